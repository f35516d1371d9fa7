import Testing
package import VaultFile

/// A valid container, with the secrets that open it and the expected result.
package struct Sample: Sendable, CustomTestStringConvertible {
    package let name: String
    package let container: [UInt8]
    package let plaintext: [UInt8]
    package let keys: KeySet
    package let context: Context
    package let manifest: Manifest
    package let capacity: HeaderCapacity

    /// A changed passphrase slot may ask for more stretching than a test has time for.
    package static let limits: OpenLimits = {
        var limits = OpenLimits()
        limits.maximumMemoryKiB = 1 << 10
        return limits
    }()

    package var testDescription: String { name }

    package init(
        _ name: String, _ container: [UInt8], plaintext: [UInt8], keys: KeySet, context: Context = .none
    ) throws {
        self.name = name
        self.container = container
        self.plaintext = plaintext
        self.keys = keys
        self.context = context
        let opened = try readStream(container, keys: keys, context: context) { _ in }
        manifest = opened.manifest
        capacity = opened.header.capacity
    }

    /// The allowed results of a changed container.
    package enum Allowed: Sendable {
        /// Only errors.
        case errors
        /// Errors, or the right plaintext with a health other than `intact`.
        case errorsAndDamage
        /// These, and `intact`: the change may have changed nothing.
        case anything
    }

    /// Says what is wrong with how the readers treat `changed`, which is this container after some change; nil if
    /// nothing. Whatever the change, no reader may release a byte that is not the plaintext's, and every reader must
    /// accept what a stream accepts.
    package func complaint(about changed: [UInt8], allowed: Allowed) throws -> String? {
        let streamed = try read(changed, by: .stream, keys: keys, context: context, limits: Self.limits)
        if let text = complaint(about: streamed, allowed) { return "stream: \(text)" }
        var wholeOpened: Reading?
        let ranged = try Reading { sink in
            let reader = try SeekableVaultReader(
                MemorySource(changed), with: Credentials(keys, context: context, limits: Self.limits))
            wholeOpened = try Reading { sink in
                try reader.readAll(to: sink)
                return reader.opened
            }
            try readRanges(reader, to: sink)
            return reader.opened
        }
        if let text = complaint(about: ranged, allowed) { return "ranges: \(text)" }
        if let whole = wholeOpened {
            if let text = complaint(about: whole, allowed) { return "whole: \(text)" }
            if whole.code != .contentMismatch, !whole.result.matches(ranged.result) {
                return "ranges and whole differ: \(ranged.result) and \(whole.result)"
            }
        }
        guard let whole = wholeOpened, whole.agrees(withStream: streamed) else {
            return streamed.opened.map { "the stream opens as \($0.health), whole \(String(describing: wholeOpened))" }
        }
        return nil
    }

    private func complaint(about reading: Reading, _ allowed: Allowed) -> String? {
        switch reading.result {
        case .failure:
            return plaintext.starts(with: reading.plaintext) ? nil : "a wrong byte came out before the error"
        case .success(let opened):
            if allowed == .errors { return "opened as \(opened.health)" }
            if allowed == .errorsAndDamage, opened.health == .intact { return "opened as intact" }
            if reading.plaintext != plaintext { return "opened with another plaintext" }
            return opened.manifest == manifest ? nil : "opened with another manifest"
        }
    }
}
