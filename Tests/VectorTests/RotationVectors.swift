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
        if let bytes = vector.headerFile { try container.folder.write(bytes, to: "h") }
        var header: HeaderSummary?
        var failure: VaultError?
        do {
            header = try vector.change(container.path, header: container.folder["h"], limits: vector.limits)
        } catch let error as VaultError {
            failure = error
        }
        let after = try container.bytes

        guard vector.value("result") == "done" else {
            #expect(try container.folder.names == (vector.headerFile == nil ? ["c"] : ["c", "h"]))
            #expect(try vector.headerFile == nil || container.folder.read("h") == vector.headerFile)
            #expect(failure?.code.name == vector.value("result"), "\(String(describing: failure))")
            #expect(after == vector.container)
            return
        }
        #expect(failure == nil)
        try checkHeaderFile(vector, container.folder)
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

    /// Checks the header file that the operation made, removed or left.
    private func checkHeaderFile(_ vector: Vector, _ folder: TemporaryFolder) throws {
        let names = try folder.names.filter { $0 != "c" }
        guard let result = vector.value("result-header"), result != "removed" else {
            let stays = vector.headerFile != nil && vector.value("result-header") == nil
            #expect(names == (stays ? ["h"] : []))
            #expect(try !stays || folder.read("h") == vector.headerFile)
            return
        }
        // A re-encryption gives it the name that belongs to the new container, and detach the name that is asked for.
        let made = try folder.read(try #require(names.first))
        let file = try HeaderFile(made)
        let isNamed = vector.value("operation") == "detach"
        #expect(names == [isNamed ? "h" : HeaderFile.name(forBody: "c", commitment: file.summary.commitment)])
        #expect(result == "\(sha256(made).hexDigits) \(file.summary.generation)")
    }

    /// The rotation of a header file as a function of its bytes.
    @Test(arguments: Vector.operations.filter { $0.value("operation") == "rotate-header" })
    func rotatingBytes(_ vector: Vector) throws {
        let result = Result { try vector.rotatedHeaderFile() }
        guard vector.value("result") == "done" else {
            guard case .failure(let error as VaultError) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(error.code.name == vector.value("result"))
            return
        }
        let rotated = try result.get()
        #expect(sha256(rotated.file.bytes).hexDigits == vector.value("result-sha256"))
        #expect(rotated.isChanged == (vector.value("written") == "copy"))
        #expect(rotated.isChanged || rotated.file.bytes == vector.container)
        let slots = rotated.file.summary.slots.map(\.keyID.bytes.hexDigits).joined(separator: " ")
        #expect(slots == vector.value("result-slots"))
    }

    private func plaintext(_ container: [UInt8], _ credentials: Credentials) throws -> [UInt8] {
        let reader = try SeekableVaultReader(MemorySource(container), with: credentials)
        return try reader.bytes(0..<reader.length)
    }
}
