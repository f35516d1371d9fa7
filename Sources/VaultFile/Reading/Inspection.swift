public import VaultFormat
public import VaultStream

/// What a container shows without a key. Nothing of it is authenticated: anybody who can write the file may have put it
/// there.
public struct Inspection: Hashable, Sendable {
    /// What a header copy shows.
    public enum Copy: Hashable, Sendable {
        /// Its checksum and its form are right.
        case intact(HeaderSummary)
        /// Its checksum is right, but it breaks a rule.
        case malformed(VaultError)
        /// Its checksum is wrong, or it is missing.
        case damaged

        /// The contents of the copy, if it is intact.
        public var summary: HeaderSummary? {
            if case .intact(let summary) = self { summary } else { nil }
        }
    }

    /// A slot, and the result of trying the caller's secrets on it.
    public struct TriedSlot: Hashable, Sendable {
        /// What the header shows of the slot.
        public let slot: SlotDescription
        /// Whether a secret opens it.
        public let outcome: SlotOutcome
    }

    /// The copy at the beginning.
    public let front: Copy
    /// The copy before the footer.
    public let tail: Copy
    /// Whether the two copies are the same bytes.
    public let copiesAreIdentical: Bool
    /// The length of the file in bytes.
    public let containerLength: UInt64
    /// The exact length of the stream that the records hold, in bytes. Without compression, that is the length of the
    /// plaintext. Nil if the footer or the headers do not give it.
    public let streamLength: UInt64?
    /// The length of the manifest in bytes, a multiple of 512. Nil if the footer or the headers do not give it.
    public let manifestLength: Int?
    /// The intact copy with the higher generation, the front if they are equal.
    private let current: HeaderCopy?
    /// The error of opening the container, if it fails before a key is tried; nil otherwise.
    public let problem: VaultError?

    /// Reads both ends of a container.
    ///
    /// - Throws: `VaultError` with `notVaultfile` or `unsupportedVersion` if there is nothing to show; what the source
    ///   throws.
    public init(_ source: any ByteSource) throws {
        self = try ContainerEnds.judge(source, isFinal: { $0.problem == nil && $0.copiesAreIdentical }) { ends in
            try Inspection(ends)
        }
    }

    private init(_ ends: ContainerEnds) throws {
        let ofFront = Self.parse(ends.front)
        // Equal copies are parsed once: a header may have a mebibyte.
        let copies = [ofFront, ends.tail == ends.front ? ofFront : Self.parse(ends.tail)]
        (front, tail) = (Copy(copies[0]), Copy(copies[1]))
        copiesAreIdentical = front != .damaged && ends.front == ends.tail
        current = copies.compactMap { try? $0?.get() }.reduce(nil) { best, copy in
            copy.generation > (best?.generation ?? 0) ? copy : best
        }
        containerLength = ends.fileSize
        do {
            let visible = try VisibleHeaders(ends)
            streamLength = visible.layout.streamLength
            manifestLength = visible.footer.manifestLength
            problem = nil
        } catch {
            let hopeless: [VaultError.Code] = [.notVaultfile, .unsupportedVersion]
            guard !hopeless.contains(error.code) else { throw error }
            streamLength = nil
            manifestLength = nil
            problem = error
        }
    }

    /// Nil for a damaged copy.
    private static func parse(_ bytes: [UInt8]) -> Result<HeaderCopy, VaultError>? {
        guard KeySchedule.isIntact(bytes) else { return nil }
        do {
            return .success(try HeaderCopy(parsing: bytes))
        } catch {
            return .failure(error)
        }
    }

    /// Whether the file is a header file, and no container: one header copy and nothing else (DET-7).
    public var isHeaderFile: Bool {
        front.summary.map { UInt64($0.capacity.bytes) == containerLength } ?? false
    }

    /// Tries the caller's secrets on every slot of the current copy.
    ///
    /// - Returns: the slots in their order, each with its outcome. Each passphrase costs a stretching for each slot.
    /// - Throws: what the provider throws; `VaultError` with `headerDamaged` if no copy can be read.
    public func trySlots(with credentials: Credentials) throws -> [TriedSlot] {
        guard let current else { throw VaultError(.headerDamaged, "no header copy can be read") }
        var trials = SlotTrials(credentials)
        let outcomes = try trials.openEvery(current)
        return zip(current.slots, outcomes).map { TriedSlot(slot: SlotDescription($0), outcome: $1) }
    }
}

extension HeaderFile {
    /// Tries the caller's secrets on every slot.
    ///
    /// - Returns: the slots in their order, each with its outcome. Each passphrase costs a stretching for each slot.
    /// - Throws: what the provider throws.
    public func trySlots(with credentials: Credentials) throws -> [Inspection.TriedSlot] {
        var trials = SlotTrials(credentials)
        return zip(copy.slots, try trials.openEvery(copy)).map {
            Inspection.TriedSlot(slot: SlotDescription($0), outcome: $1)
        }
    }

    /// Reads a header file.
    ///
    /// - Throws: as for bytes; what the source throws.
    public init(_ source: any ByteSource) throws {
        try self.init(source.headerFileBytes())
    }
}

extension Inspection.Copy {
    fileprivate init(_ copy: Result<HeaderCopy, VaultError>?) {
        switch copy {
        case .success(let copy): self = .intact(HeaderSummary(copy))
        case .failure(let error): self = .malformed(error)
        case nil: self = .damaged
        }
    }
}
