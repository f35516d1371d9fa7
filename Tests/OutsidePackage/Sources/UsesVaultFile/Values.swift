import VaultFile

let text = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
let cheap = Argon2Parameters(passes: 2, memoryKiB: 19 << 10)

/// Values that describe a container.
func values() throws {
    try check(cheap.passes < Argon2Parameters.standard.passes && cheap.memoryKiB == 19 << 10)
    try check(ChunkSize(bytes: 4096) == .minimum && ChunkSize.standard.bytes == 1 << 16 && ChunkSize.maximum.log2 == 23)
    try check(ChunkSize(bytes: 5000) == nil)
    guard let least = HeaderCapacity(bytes: 512), let more = HeaderCapacity(bytes: 1024) else {
        throw Unexpected(line: #line)
    }
    try check(least < more && more.bytes == 1024)
    try check(Context.none.bytes.isEmpty && Context("a") == Context([97]))
    try check(code { _ = try Context([UInt8](repeating: 0, count: 65_536)) } == .badContext)
    guard let id = KeyID(hex: "000102030405060708090a0b0c0d0e0f") else { throw Unexpected(line: #line) }
    try check(id == KeyID(bytes: id.bytes) && id.description.hasPrefix("0001"))
    try check(Timestamp(seconds: 0).utc == "1970-01-01T00:00:00Z" && Timestamp(seconds: 0) < .now)
    try check(Timestamp(seconds: 1, nanoseconds: 2)?.nanoseconds == 2 && Timestamp.now.seconds > 0)

    var metadata = Metadata()
    metadata.name = "a.txt"
    metadata.contentType = "text/plain"
    metadata.modified = Timestamp(seconds: 7)
    metadata.permissions = 0o644
    try check(Metadata.isValidName("a.txt") && !Metadata.isValidName("a/b"))
    try check(Metadata.isValidContentType("text/plain") && !Metadata.isValidContentType(""))

    var limits = OpenLimits.service
    limits.maximumPlaintextLength = 1 << 20
    limits.maximumPassphraseSlots = 2
    limits.maximumPasses = 3
    limits.maximumChunkSize = .standard
    limits.maximumMemoryKiB = 1 << 18
    limits.maximumStretchingKiB = 1 << 20
    try check(limits != .standard && OpenLimits() == .standard)

    try check(VaultError.inputFailed("a", systemError: .ioError).systemError == .ioError)
    try check(Vault.processorCount > 0 && Vault.maximumJobs >= Vault.processorCount && !Vault.engine.isEmpty)
    try check(Vault.forbidCoreDumps())
    try check(Set(codes.map(\.name)).count == codes.count && results.count == 20)
}
