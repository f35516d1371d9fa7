import VaultFile
import VaultFormat
import VaultTestSupport

/// Recovery from any bytes. Its output has each byte at its place, zeros in place of lost bytes, and names them. If any
/// reader accepts the container, the output is complete.
enum RecoverTarget: FuzzTarget {
    static let name = "recover"

    static func run(_ input: [UInt8]) throws {
        guard let input = FuzzInput(input) else { return }
        let whole = try read(
            input.container, by: .whole, keys: input.secrets.keys, context: input.secrets.context,
            limits: FuzzInput.limits)
        let streamed = try input.streamed(piece: 1 << 20)
        let found = try recovery(input)
        let headers = (try? found.get().headers) ?? []
        // Tries each valid header as if the user had chosen it. For a single header, which doubles the cost, only
        // sometimes.
        for header in headers.prefix(4) where headers.count > 1 || input.seed % 4 == 0 {
            let chosen = try Recovering(using: header, jobs: 1) { try found.get() }
            try check(chosen, input, streamed)
            try require(chosen.recovered?.header ?? header == header, "another header was used")
            // When named by its offset, a header is the only candidate, so others no longer share its limits or raise
            // them.
            let placed = try recovery(input, at: header.offset)
            let named = try Recovering(using: nil, jobs: 1) { try placed.get() }
            try require(
                named.result.matches(chosen.result) && named.plaintext == chosen.plaintext && named.lost == chosen.lost
                    || named.code == .limitExceeded,
                "the header \(header) gives \(chosen.result), and named \(named.result)")
        }
        let offset = input.secrets.vector.value("header").flatMap { UInt64($0) }
        let wanted = offset == nil ? found : try recovery(input, at: offset)
        let recovering = try Recovering(using: nil, jobs: 1) { try wanted.get() }
        try check(recovering, input, streamed)
        if let offset, let recovered = recovering.recovered {
            try require(recovered.header.offset == offset, "the header \(recovered.header) was used")
        }
        guard let opened = whole.opened, offset == nil else { return }
        switch recovering.result {
        case .failure(let error):
            // There may be headers of other containers, or one passphrase too many beside the header.
            try require([.copiesDisagree, .limitExceeded].contains(error.code), "it opens, recovery says \(error)")
        case .success(let recovered):
            guard recovered.header.summary.commitment == opened.header.commitment else { return }
            try require(
                recovered.isComplete && recovering.plaintext == whole.plaintext
                    && recovered.manifest == opened.manifest, "it opens, recovery gives something else")
        }
    }

    private static func recovery(
        _ input: FuzzInput, at offset: UInt64? = nil
    ) throws -> Result<Recovery, VaultError> {
        var options = RecoveryOptions()
        options.maximumStretchingKiB = 512
        options.headerOffset = offset
        do {
            return .success(
                try Recovery(
                    MemorySource(input.container), with: input.credentials,
                    options: options))
        } catch let error as VaultError {
            return .failure(error)
        }
    }

    private static func check(_ recovering: Recovering, _ input: FuzzInput, _ streamed: Reading) throws {
        try checkLosses(recovering)
        // The front authenticated at its place what a stream released. Another header may belong to other records, or
        // have them elsewhere. In a packed stream, groups are where member 4 says.
        guard let header = recovering.recovered?.header.summary, header.compression == .none,
            header.commitment[...] == input.container.dropFirst(32).prefix(32),
            header.capacity == HeaderCopy.claimedCapacity(input.container[...])
        else { return }
        var end: UInt64 = 0
        let count = UInt64(min(streamed.plaintext.count, recovering.plaintext.count))
        for lost in recovering.lost + [count..<count] where end < count {
            let range = Int(end)..<Int(max(end, min(count, lost.lowerBound)))
            try require(
                recovering.plaintext[range] == streamed.plaintext[range], "what is not lost in \(range) is another")
            end = lost.upperBound
        }
    }

    private static func checkLosses(_ recovering: Recovering) throws {
        guard let recovered = recovering.recovered else { return }
        let plaintext = recovering.plaintext
        try require(UInt64(plaintext.count) == recovered.length, "\(plaintext.count) bytes of \(recovered.length)")
        var end: UInt64 = 0
        for lost in recovering.lost {
            try require(
                lost.lowerBound >= end && !lost.isEmpty && lost.upperBound <= recovered.length,
                "the losses are \(recovering.lost) of \(recovered.length)")
            end = lost.upperBound
            try require(
                plaintext[Int(lost.lowerBound)..<Int(lost.upperBound)].allSatisfy { $0 == 0 }, "a loss is not zeros")
        }
        try require(
            recovering.lost.reduce(0) { $0 + UInt64($1.count) } == recovered.lostLength, "the losses do not add up")
        if let manifest = recovered.manifest {
            try require(manifest.plaintextLength == recovered.length, "it is not as long as the manifest says")
        }
    }

    static func mutate(_ input: [UInt8], _ random: inout SeededRandom, change: ByteChange, limit: Int) -> [UInt8] {
        let output = ContainerMutation.mutate(input, &random, change: change, limit: limit)
        guard random.below(10) == 0, let changed = FuzzInput(output) else { return output }
        let places = [0, changed.container.count, 512, 4096, 512 * random.below(40)]
        let lines = random.below(3) == 0 ? [] : ["header: \(random.pick(places))"]
        return [UInt8]((changed.head(with: lines, inPlaceOf: ["header"]) + changed.container).prefix(limit))
    }
}
