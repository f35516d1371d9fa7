import Testing
import VaultFile
import VaultTestSupport

/// Every vector for single ranges (Spec 18).
@Suite(.bothEngines) struct RangeVectors {
    @Test func thereAreVectors() {
        #expect(Vector.ranges.count > 15)
    }

    @Test(arguments: Vector.ranges) func reading(_ vector: Vector) throws {
        let ranges = try vector.values("range").map { line in
            let ends = line.split(separator: " ").compactMap { UInt64($0) }
            try #require(ends.count == 2 && ends[0] <= ends[1])
            return ends[0]..<ends[1]
        }
        try #require(!ranges.isEmpty)
        var plaintext: [UInt8] = []
        let code = try StoredContainer.code {
            let reader = try SeekableVaultReader(MemorySource(vector.container), with: vector.credentials())
            for range in ranges { plaintext += try reader.bytes(range) }
        }
        guard vector.value("result") == "done" else {
            #expect(code?.name == vector.value("result"))
            return
        }
        #expect(code == nil)
        #expect(vector.value("plaintext-length") == String(plaintext.count))
        #expect(vector.value("plaintext-sha256") == sha256(plaintext).hexDigits)
    }
}
