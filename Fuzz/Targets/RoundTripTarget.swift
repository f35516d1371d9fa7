import SystemPackage
import VaultFile
import VaultTestSupport

/// Every plaintext comes out unchanged, whichever writer and reader handle it and in whichever pieces. The first 20
/// bytes are the parameters; the rest is repeated to make the plaintext.
enum RoundTripTarget: FuzzTarget {
    static let name = "roundtrip"

    static func run(_ input: [UInt8]) throws {
        guard input.count >= 20 else { return }
        let draw = input.map(Int.init)
        let text = [UInt8](input[20...])
        let plaintext = [UInt8](
            (0..<(text.isEmpty ? 0 : draw[0] % 16 + 1)).lazy.map { _ in text }.joined().prefix(100_000))
        var options = SealOptions(
            chunk: ChunkSize(log2: UInt8(12 + draw[1] % 4)) ?? .minimum, digest: draw[2] & 1 == 1,
            context: try Context([UInt8](input[0..<(draw[3] % 20)])), compression: draw[2] & 2 == 2 ? .deflate : .none)
        if draw[4] < 100 { options.headerCapacity = .capacity(4096 << (draw[4] % 3)) }
        options.metadata.name = Metadata.name([UInt8](input[5..<9]))
        if draw[9] & 1 == 1 { options.metadata.permissions = UInt16(draw[9]) }
        options.metadata.modified = Timestamp(
            seconds: Int64(draw[10]) << 40 - Int64(draw[11]), nanoseconds: UInt32(draw[12]) << 21)
        let piece = 1 + draw[13] + draw[14] << (draw[15] % 9)
        func random() -> Randomness { .fixed(seed: UInt64(draw[16])) }
        let container = try sealed(plaintext, options: options, piece: piece, randomness: random())
        for kind in ReaderKind.allCases {
            let reading = try read(
                container, by: kind, context: options.context, piece: 1 + draw[17] + draw[18] << (draw[19] % 9))
            try check(reading, plaintext, options)
        }
        try throughFiles(container, plaintext, options, random(), jobs: 1 + draw[15] % 3)
    }

    private static func check(_ reading: Reading, _ plaintext: [UInt8], _ options: SealOptions) throws {
        guard let opened = reading.opened else { throw Broken("\(reading.result)") }
        try require(opened.health == .intact && reading.plaintext == plaintext, "another plaintext comes out")
        try require(opened.manifest.metadata == options.metadata, "other metadata come out")
    }

    /// Through threads and files, which give the same bytes.
    private static func throughFiles(
        _ container: [UInt8], _ plaintext: [UInt8], _ options: SealOptions, _ randomness: Randomness, jobs: Int
    ) throws {
        let folder = try TemporaryFolder()
        func open(_ name: String) throws -> FileDescriptor {
            try FileDescriptor.open(
                folder[name], .readWrite, options: [.create, .truncate], permissions: .ownerReadWrite)
        }
        try folder.write(plaintext, to: "p")
        let (input, output) = (try FileDescriptor.open(folder["p"], .readOnly), try open("c"))
        try input.closeAfter {
            try output.closeAfter {
                _ = try Vault.encrypt(
                    from: input, to: output, for: [.key(testKey(1))], options: options, jobs: jobs,
                    randomness: randomness)
            }
        }
        try require(try folder.read("c") == container, "a file of \(jobs) threads is another container")
        let (sealed, opened) = (try FileDescriptor.open(folder["c"], .readOnly), try open("o"))
        try sealed.closeAfter {
            try opened.closeAfter {
                _ = try Vault.decrypt(
                    from: sealed, to: opened, with: .key(testKey(1), context: options.context), jobs: jobs)
            }
        }
        try require(try folder.read("o") == plaintext, "a file of \(jobs) threads has another plaintext")
    }
}
