import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Every vector through the code that decrypts files and pipes: threads open the records and unpack the items, with
/// rules of their own for the order.
@Suite struct PipedVectors {
    @Test(arguments: Vector.all) func piped(_ vector: Vector) throws {
        let expected = try vector.expected("stream")
        do {
            let credentials = try vector.credentials()
            let opened = try feeding(vector.container, piece: 1 << 16) { input in
                try PipedContainer(from: input, with: credentials).decrypt(to: nil, jobs: 2)
            }
            #expect(expected == .health(opened.health))
            #expect(vector.value("plaintext-length") == String(opened.manifest.plaintextLength))
        } catch let error as VaultError {
            switch expected {
            case .error(let name, _): #expect(error.code.name == name, "\(error)")
            case .anyError: break
            case .health: Issue.record("\(error)")
            }
        }
    }

    /// Everything, with the threads of a seeking reader.
    @Test(arguments: Vector.all) func decrypting(_ vector: Vector) throws {
        guard
            let reader = try? SeekableVaultReader(MemorySource(vector.container), with: vector.credentials())
        else { return }
        let output = try FileDescriptor.open(FilePath("/dev/null"), .writeOnly)
        defer { try? output.close() }
        let code = try StoredContainer.code { try reader.decrypt(to: output, jobs: 2) }
        #expect(try code == StoredContainer.code { try reader.readAll { _ in } })
        let end = reader.length
        #expect(try StoredContainer.code { try reader.decrypt(0..<end + 1, to: output) } == .rangeInvalid)
    }

    /// A container with false contents must not be re-encrypted into one that looks right.
    @Test(arguments: Vector.all) func reencrypting(_ vector: Vector) throws {
        guard case .error(let name, isAtOpening: false) = try vector.expected("whole") else { return }
        let container = try StoredContainer(vector.container)
        let code = try StoredContainer.code {
            try Vault.reencrypt(
                at: container.path, for: [.key(testKey(77))], with: vector.credentials(), options: .losingAll)
        }
        #expect(code?.name == name)
        #expect(try container.bytes == vector.container && container.folder.names == ["c"])
    }
}

extension ReencryptionOptions {
    fileprivate static var losingAll: ReencryptionOptions {
        var options = ReencryptionOptions()
        options.mayLoseSlots = true
        return options
    }
}
