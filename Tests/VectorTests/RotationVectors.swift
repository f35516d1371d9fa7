import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Every vector of a rotation, a repair or a re-encryption, on a file (Spec 18).
@Suite struct RotationVectors {
    @Test func thereAreVectors() {
        #expect(Vector.operations.count > 100)
    }

    @Test(arguments: Vector.operations) func changing(_ vector: Vector) throws {
        let container = try StoredContainer(vector.container)
        let inode = try Stat(container.path).inode
        var header: HeaderSummary?
        var failure: VaultError?
        do {
            header = try vector.change(container.path)
        } catch let error as VaultError {
            failure = error
        }
        let after = try container.bytes
        #expect(try container.folder.names == ["c"])

        guard vector.value("result") == "done" else {
            #expect(failure?.code.name == vector.value("result"), "\(String(describing: failure))")
            #expect(after == vector.container)
            return
        }
        #expect(failure == nil)
        #expect(sha256(after).hexDigits == vector.value("result-sha256"))
        #expect(header.map { String($0.generation) } == vector.value("result-generation"))
        #expect(header.map { String($0.capacity.bytes) } == vector.value("result-capacity"))
        let ids = header?.slots.map(\.keyID.bytes.hexDigits).joined(separator: " ")
        #expect(ids == vector.value("result-slots"))
        let isSameFile = try Stat(container.path).inode == inode
        let written = after == vector.container ? "nothing" : isSameFile ? "in place" : "copy"
        #expect(written == vector.value("written"))
        #expect(isSameFile || written == "copy")
    }
}

private struct Misread: Error { let line: String }

extension Vector {
    /// Makes the change that the vector asks for, and gives the header that the library says stands there now.
    fileprivate func change(_ path: FilePath) throws -> HeaderSummary {
        let keys = try keys()
        let context = try context()
        let random = Randomness.stream(bytes("random") ?? [])
        let recipients = try values("add").map { try recipient($0) }
        let removing = try selection()
        let hasConsent = value("consent") == "yes"
        if value("operation") == "reencrypt" {
            var options = ReencryptionOptions()
            options.mayLoseSlots = hasConsent
            options.limits = limits
            return try Vault.reencrypt(
                at: .path(path), for: recipients, keys: keys, context: context, options: options, randomness: random
            ).header
        }
        var options = RotationOptions()
        options.keeping = try value("keep").map { line in
            guard let place = HeaderPlace(rawValue: line) else { throw Misread(line: line) }
            return place
        }
        options.mayLoseAccess = hasConsent
        options.limits = limits
        switch value("operation") {
        case "rotate":
            return try Vault.rotate(
                at: .path(path), KeyChange(adding: recipients, removing: removing), keys: keys, context: context,
                options: options, randomness: random
            ).header
        case "repair":
            return try Vault.repair(
                at: .path(path), keys: keys, context: context, options: options, randomness: random
            ).header
        default:
            throw Misread(line: value("operation") ?? "")
        }
    }

    private func recipient(_ line: String) throws -> Recipient {
        let words = line.split(separator: " ")
        guard let kind = words.first, let secret = words.dropFirst().first.flatMap({ [UInt8](hexDigits: $0) }) else {
            throw Misread(line: line)
        }
        if kind == "key", words.count == 2 { return .key(try SymmetricKey(bytes: secret.span)) }
        guard kind == "passphrase", words.count == 4, let passes = UInt32(words[2]), let memory = UInt32(words[3])
        else { throw Misread(line: line) }
        let cost = Argon2Parameters(passes: passes, memoryKiB: memory)
        return .passphrase(try Passphrase(bytes: secret.span), cost)
    }

    private func selection() throws -> SlotSelection {
        var selection = SlotSelection.none
        for line in values("remove") {
            let words = line.split(separator: " ")
            let bytes = words.dropFirst().first.flatMap { [UInt8](hexDigits: $0) }
            switch (words.first, bytes) {
            case ("others", nil): selection.others = true
            case ("id", let bytes?):
                guard let id = KeyID(bytes: bytes) else { throw Misread(line: line) }
                selection.ids.insert(id)
            case ("passphrase", let bytes?): selection.passphrases.append(try Passphrase(bytes: bytes.span))
            default: throw Misread(line: line)
            }
        }
        return selection
    }
}
