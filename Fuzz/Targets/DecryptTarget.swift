import SystemPackage
import VaultFile
import VaultTestSupport

/// A container read through pipes and with threads gives the result of a stream and releases the same bytes. Read at
/// offsets, it gives the result of a reader that seeks.
enum DecryptTarget: FuzzTarget {
    static let name = "decrypt"

    static func run(_ input: [UInt8]) throws {
        guard let input = FuzzInput(input) else { return }
        let (keys, context, container) = (input.secrets.keys, input.secrets.context, input.container)
        let jobs = 1 + Int(input.seed % 3)
        let streamed = try input.streamed(piece: 1 << 16)
        let piped = try released { output in
            try feeding(container, piece: 1 + Int((input.seed >> 8) % 9973)) { pipe in
                try Vault.decrypt(
                    from: pipe, to: output, with: Credentials(keys, context: context, limits: FuzzInput.limits),
                    jobs: jobs)
            }
        }
        try check(piped, streamed, "\(jobs) threads and pipes")

        let whole = try read(container, by: .whole, keys: keys, context: context, limits: FuzzInput.limits)
        let placed = try released { output in
            let reader = try SeekableVaultReader(
                MemorySource(container), with: Credentials(keys, context: context, limits: FuzzInput.limits))
            try reader.decrypt(to: output, jobs: jobs)
            return reader.opened
        }
        try check(placed, whole, "\(jobs) threads and places")
    }

    private static func released(_ body: (FileDescriptor) throws -> OpenedContainer) throws -> Reading {
        let (result, bytes) = try collecting(body)
        return try Reading { sink in
            sink(bytes.span)
            return try result.get()
        }
    }

    private static func check(_ reading: Reading, _ expected: Reading, _ what: String) throws {
        try require(
            reading.result.matches(expected.result) && reading.plaintext == expected.plaintext,
            "by \(what) it is \(reading.result) with \(reading.plaintext.count) bytes, else \(expected.result) with "
                + "\(expected.plaintext.count)")
    }

    static func mutate(_ input: [UInt8], _ random: inout SeededRandom, change: ByteChange, limit: Int) -> [UInt8] {
        ContainerMutation.mutate(input, &random, change: change, limit: limit)
    }
}
