import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Every vector for a rotation, a repair or a re-encryption, on a file (Spec 18).
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
            header = try vector.change(container.path, limits: vector.limits)
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
        // No library takes the randomness of X-Wing, so the bytes of such a slot are not known.
        if let digest = vector.value("result-sha256") { #expect(sha256(after).hexDigits == digest) }
        #expect(header.map { String($0.generation) } == vector.value("result-generation"))
        #expect(header.map { String($0.capacity.bytes) } == vector.value("result-capacity"))
        let ids = header?.slots.map(\.keyID.bytes.hexDigits).joined(separator: " ")
        if let expected = vector.value("result-slots") { #expect(ids == expected) }
        for identity in try vector.resultOpeners() {
            let credentials = Credentials.identity(identity, context: try vector.context())
            #expect(try plaintext(after, credentials) == plaintext(vector.container, vector.credentials()))
        }
        let isSameFile = try Stat(container.path).inode == inode
        let written = after == vector.container ? "nothing" : isSameFile ? "in place" : "copy"
        #expect(written == vector.value("written"))
        #expect(isSameFile || written == "copy")
    }

    private func plaintext(_ container: [UInt8], _ credentials: Credentials) throws -> [UInt8] {
        let reader = try SeekableVaultReader(MemorySource(container), with: credentials)
        return try reader.bytes(0..<reader.length)
    }
}
