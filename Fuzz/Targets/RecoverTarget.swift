import VaultFile
import VaultTestSupport

/// What recovery gets out of anything: what it gives out is at its place, what it cannot is zeros and is named, and
/// what every reader accepts it gives in full.
enum RecoverTarget: FuzzTarget {
    static let name = "recover"

    static func run(_ input: [UInt8]) throws {
        guard let input = FuzzInput(input) else { return }
        var options = RecoveryOptions()
        options.limits = FuzzInput.limits
        options.maximumStretchingKiB = 512
        let recovering = try Recovering(
            MemorySource(input.container), keys: input.secrets.keys, context: input.secrets.context, options: options,
            jobs: 1)
        try checkLosses(recovering)
        let whole = try read(
            input.container, by: .whole, keys: input.secrets.keys, context: input.secrets.context,
            limits: FuzzInput.limits)
        guard let opened = whole.opened else { return }
        switch recovering.result {
        case .failure(let error):
            // There may be headers of other containers in it, or one beside a passphrase too many.
            try require([.copiesDisagree, .limitExceeded].contains(error.code), "it opens, recovery says \(error)")
        case .success(let recovered):
            guard recovered.header.summary.commitment == opened.header.commitment else { return }
            try require(
                recovered.isComplete && recovering.plaintext == whole.plaintext
                    && recovered.manifest == opened.manifest, "it opens, recovery gives something else")
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
        ContainerMutation.mutate(input, &random, change: change, limit: limit)
    }
}
