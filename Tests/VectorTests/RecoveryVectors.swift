import Testing
import VaultFile
import VaultTestSupport

/// Every vector for recover (Spec 18).
@Suite struct RecoveryVectors {
    @Test func thereAreVectors() {
        #expect(Vector.recoveries.count > 50)
    }

    @Test(arguments: Vector.recoveries) func recovering(_ vector: Vector) throws {
        var options = RecoveryOptions()
        options.headerOffset = vector.value("header").flatMap(UInt64.init)
        let found = try Recovering(using: nil, jobs: nil) {
            try Recovery(MemorySource(vector.container), with: vector.credentials(), options: options)
        }
        guard vector.value("result") == "done" else {
            #expect(found.code?.name == vector.value("result"))
            #expect(found.plaintext.isEmpty)
            return
        }
        let recovered = try #require(found.recovered, "\(found.result)")
        #expect((recovered.manifest != nil) == (vector.value("complete") == "yes"))
        #expect(String(found.plaintext.count) == vector.value("plaintext-length"))
        #expect(recovered.length == UInt64(found.plaintext.count))
        #expect(sha256(found.plaintext).hexDigits == vector.value("plaintext-sha256"))
        let lost = found.lost.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: " ")
        #expect(lost == vector.value("lost") ?? "")
        #expect(recovered.lostLength == found.lost.reduce(0) { $0 + UInt64($1.count) })
    }
}
