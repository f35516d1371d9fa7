import Testing
import VaultFile
import VaultTestSupport

/// Every vector through the library's readers. The folder decides which vectors there are.
@Suite(.bothEngines) struct ReaderVectors {
    @Test func thereAreVectors() {
        #expect(Vector.all.count > 500)
    }

    @Test(arguments: Vector.all) func streaming(_ vector: Vector) throws {
        // Pieces of every size must give the same result; one odd and one large size stand for all.
        for piece in [997, 1 << 16] {
            var plaintext: [UInt8] = []
            let outcome = Outcome {
                var reader = VaultReader(with: try vector.credentials())
                for start in stride(from: 0, to: vector.container.count, by: piece) {
                    let end = min(start + piece, vector.container.count)
                    try reader.push(vector.container.span.extracting(start..<end)) { plaintext.append(copying: $0) }
                }
                return try reader.finish()
            }
            try outcome.check(vector, "stream", plaintext: plaintext)
            if case .failed = outcome, let released = vector.value("released") {
                #expect(released == "\(plaintext.count) \(sha256(plaintext).hexDigits)")
            }
        }
    }

    @Test(arguments: Vector.all) func seeking(_ vector: Vector) throws {
        var plaintext: [UInt8] = []
        let keys = try? vector.keys()
        let outcome = Outcome {
            let reader = try keys.map { try vector.open($0) } ?? vector.open()
            do {
                // In pieces that share no border with the records; not many for a large container.
                let piece = max(1500, reader.length / 7 + 1)
                var start: UInt64 = 0
                while start < reader.length {
                    let end = min(start + piece, reader.length)
                    plaintext += try reader.bytes(start..<end)
                    start = end
                }
                #expect(try reader.bytes(0..<reader.length) == plaintext)
            } catch let error as VaultError {
                throw AtReading(error: error)
            }
            return reader.opened
        }
        try outcome.check(vector, "seek", plaintext: plaintext)
        let sessions = vector.values("handed-over")
        if !sessions.isEmpty { #expect(keys?.standIn.sessions ?? [] == sessions.filter { $0 != "none" }) }
    }

    @Test(arguments: Vector.all) func whole(_ vector: Vector) throws {
        var plaintext: [UInt8] = []
        let outcome = Outcome {
            let reader = try vector.open()
            do {
                try reader.readAll { plaintext.append(copying: $0) }
            } catch let error as VaultError {
                throw AtReading(error: error)
            }
            return reader.opened
        }
        try outcome.check(vector, "whole", plaintext: plaintext)
    }

    /// `verify` goes on after damage, and must find some exactly if reading everything fails.
    @Test(arguments: Vector.all) func verifying(_ vector: Vector) throws {
        guard let reader = try? vector.open() else { return }
        var damage: [Damage] = []
        try reader.verify { damage.append($0) }
        let isWhole = (try? reader.readAll { _ in }) != nil
        #expect(damage.isEmpty == isWhole)
    }
}

extension Vector {
    fileprivate func open() throws -> SeekableVaultReader {
        try SeekableVaultReader(MemorySource(container), with: credentials())
    }

    fileprivate func open(_ keys: VectorKeys) throws -> SeekableVaultReader {
        var credentials = try credentials()
        credentials.keys = keys
        return try SeekableVaultReader(MemorySource(container), with: credentials)
    }
}

private struct AtReading: Error {
    let error: VaultError
}

/// The result of a reader.
private enum Outcome {
    case opened(OpenedContainer)
    case failed(VaultError, isAtOpening: Bool)
    case strange(any Error)

    init(_ body: () throws -> OpenedContainer) {
        do {
            self = .opened(try body())
        } catch let error as VaultError {
            self = .failed(error, isAtOpening: true)
        } catch let error as AtReading {
            self = .failed(error.error, isAtOpening: false)
        } catch {
            self = .strange(error)
        }
    }

    func check(_ vector: Vector, _ reader: String, plaintext: [UInt8]) throws {
        switch (self, try vector.expected(reader)) {
        case (.opened(let opened), .health(let health)):
            #expect(opened.health == health)
            #expect(vector.value("plaintext-length") == String(plaintext.count))
            #expect(vector.value("plaintext-sha256") == sha256(plaintext).hexDigits)
            #expect(opened.manifest.plaintextLength == UInt64(plaintext.count))
            let metadata = opened.manifest.metadata
            #expect(metadata.name.map { [UInt8]($0.utf8) } == vector.bytes("name"))
            #expect(metadata.contentType.map { [UInt8]($0.utf8) } == vector.bytes("content-type"))
            #expect(metadata.modified.map { "\($0.seconds) \($0.nanoseconds)" } == vector.value("modified"))
            #expect(metadata.permissions == vector.value("mode").flatMap { UInt16($0, radix: 8) })
            #expect(opened.manifest.digest == vector.bytes("digest"))
        case (.failed, .anyError):
            break
        case (.failed(let error, let isAtOpening), .error(let name, let expectedAtOpening)):
            #expect(error.code.name == name, "\(error)")
            if reader != "stream" { #expect(isAtOpening == expectedAtOpening, "\(error)") }
        case (_, let expected):
            Issue.record("\(self) instead of \(expected)")
        }
    }
}
