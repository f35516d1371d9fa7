import SystemPackage
import Testing
import VaultCrypto
import VaultFile
import VaultTestSupport

/// The vectors with hundreds of mebibytes of plaintext. Each kind of reader reads them once, and keeps nothing.
@Suite(.serialized) struct LargeVectors {
    static let readings = Vector.large.filter { $0.value("operation") == nil }
    static let recoveries = Vector.large.filter { $0.value("operation") == "recover" }

    @Test func thereAreVectors() {
        #expect(Self.readings.count > 3 && Self.recoveries.count > 2)
    }

    /// The length and the digest of what a reader gives.
    private struct Sum: ~Copyable {
        private(set) var count = 0
        private var digest = SHA256()

        mutating func add(_ bytes: Span<UInt8>) {
            count += bytes.count
            digest.update(bytes)
        }

        consuming func finish() -> (count: String, digest: String) {
            (String(count), digest.finish().hexDigits)
        }
    }

    /// Checks what a reader gave, and how it ended.
    private static func check(
        _ vector: Vector, _ reader: String, _ given: (count: String, digest: String), _ health: Health?,
        _ code: VaultError.Code?
    ) throws {
        switch try vector.expected(reader) {
        case .health(let expected):
            #expect(code == nil && health == expected)
            #expect(given.count == vector.value("plaintext-length"))
            #expect(given.digest == vector.value("plaintext-sha256"))
        case .error(let name, _):
            #expect(code?.name == name)
            if reader == "stream" { #expect("\(given.count) \(given.digest)" == vector.value("released")) }
        case .anyError:
            #expect(code != nil)
        }
    }

    @Test(arguments: readings) func streaming(_ vector: Vector) throws {
        var sum = Sum()
        var health: Health?
        let code = try StoredContainer.code {
            var reader = VaultReader(with: try vector.credentials())
            for start in stride(from: 0, to: vector.container.count, by: 1 << 16) {
                let end = min(start + (1 << 16), vector.container.count)
                try reader.push(vector.container.span.extracting(start..<end)) { sum.add($0) }
            }
            health = try reader.finish().health
        }
        try Self.check(vector, "stream", sum.finish(), health, code)
    }

    @Test(arguments: readings) func whole(_ vector: Vector) throws {
        var sum = Sum()
        var health: Health?
        let code = try StoredContainer.code {
            let reader = try SeekableVaultReader(MemorySource(vector.container), with: vector.credentials())
            try reader.readAll { sum.add($0) }
            health = reader.opened.health
        }
        try Self.check(vector, "whole", sum.finish(), health, code)
    }

    /// A range across the border of the two groups, and the last byte. Both are zeros, like everything.
    @Test(arguments: readings) func ranges(_ vector: Vector) throws {
        let code = try StoredContainer.code {
            let reader = try SeekableVaultReader(MemorySource(vector.container), with: vector.credentials())
            let border: UInt64 = 65_536 * 4096
            #expect(try reader.bytes(border - 5000..<border + 300) == [UInt8](repeating: 0, count: 5300))
            #expect(try reader.bytes(reader.length - 1..<reader.length) == [0])
        }
        let isGood = if case .health = try vector.expected("seek") { true } else { false }
        #expect(code == (isGood ? nil : .packingMalformed))
    }

    @Test(arguments: readings) func piped(_ vector: Vector) throws {
        let code = try StoredContainer.code {
            _ = try feeding(vector.container, piece: 1 << 16) { input in
                try PipedContainer(from: input, with: vector.credentials()).decrypt(to: nil, jobs: 2)
            }
        }
        if case .error(let name, _) = try vector.expected("stream") {
            #expect(code?.name == name)
        } else {
            #expect(code == nil)
        }
    }

    @Test(arguments: recoveries) func recovering(_ vector: Vector) throws {
        var sum = Sum()
        var lost: [String] = []
        let recovery = try Recovery(MemorySource(vector.container), with: vector.credentials())
        let recovered = try recovery.read(jobs: 2) {
            sum.add($0)
        } onDamage: {
            if let range = $0.plaintextRange { lost.append("\(range.lowerBound)-\(range.upperBound)") }
        }
        let given = sum.finish()
        #expect((recovered.manifest != nil) == (vector.value("complete") == "yes"))
        #expect(given.count == vector.value("plaintext-length"))
        #expect(given.digest == vector.value("plaintext-sha256"))
        #expect(lost.joined(separator: " ") == vector.value("lost") ?? "")
    }
}
