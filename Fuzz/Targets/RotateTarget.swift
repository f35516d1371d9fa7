import VaultFile
import VaultTestSupport

/// A change of keys, a repair or a re-encryption of anything. It is refused, and nothing has been written; or it is
/// done, and the contents are what they were.
enum RotateTarget: FuzzTarget {
    static let name = "rotate"
    private static let folder = TemporaryFolder.ofTarget()

    static func run(_ input: [UInt8]) throws {
        guard let input = FuzzInput(input) else { return }
        let (vector, keys) = (input.secrets.vector, input.secrets.keys)
        let path = try folder.write(input.container, to: "c")
        do {
            _ = try vector.change(path, limits: FuzzInput.limits)
        } catch is VaultError {
            try require(try folder.read("c") == input.container, "it was refused, and something was written")
            try require(try folder.names == ["c"], "it was refused, and a file was left")
            return
        } catch is Misread {
            return
        }
        try require(try folder.names == ["c"], "it was done, and a file was left")
        func reading(_ bytes: [UInt8]) throws -> Reading {
            try read(bytes, by: .whole, keys: keys, context: input.secrets.context, limits: FuzzInput.limits)
        }
        let (before, after) = (try reading(input.container), try reading(try folder.read("c")))
        if let opened = before.opened, let left = after.opened {
            try require(
                after.plaintext == before.plaintext && left.manifest == opened.manifest, "the contents are others")
        }
        if let opened = after.opened { try require(opened.health == .intact, "it is \(opened.health) afterwards") }
        if before.opened != nil, let error = after.error {
            try require([.wrongKey, .limitExceeded].contains(error.code), "it opened before, and now \(error)")
        }
    }

    static func mutate(_ input: [UInt8], _ random: inout SeededRandom, change: ByteChange, limit: Int) -> [UInt8] {
        ContainerMutation.mutate(input, &random, change: change, limit: limit)
    }
}
