import VaultCrypto
import VaultTestSupport

/// Something that takes bytes which nobody vouches for, and what must be true of it for all of them.
protocol FuzzTarget: SendableMetatype {
    /// What it is called on the command line, and its folder of regressions.
    static var name: String { get }

    /// Tries an input.
    ///
    /// - Throws: `Broken` where something is not as it must be, or an error that must not come out.
    static func run(_ input: [UInt8]) throws

    /// Makes another input of one.
    ///
    /// - Parameter change: changes bytes as the fuzzer does, up to a length.
    static func mutate(_ input: [UInt8], _ random: inout SeededRandom, change: ByteChange, limit: Int) -> [UInt8]
}

/// Changes bytes anyhow, up to a length.
typealias ByteChange = (_ bytes: [UInt8], _ limit: Int) -> [UInt8]

extension FuzzTarget {
    /// Tries an input with one of the libraries that encipher: by its length, so that it is the same one again.
    static func attempt(_ input: [UInt8]) throws {
        let engines = CipherEngine.available
        try CipherEngine.$chosen.withValue(engines[input.count % engines.count]) { try run(input) }
    }

    /// As the fuzzer does where it knows nothing.
    static func mutate(_ input: [UInt8], _ random: inout SeededRandom, change: ByteChange, limit: Int) -> [UInt8] {
        change(input, limit)
    }
}

/// A property that does not hold.
struct Broken: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// - Throws: `Broken` where a property does not hold.
func require(_ holds: Bool, _ otherwise: @autoclosure () -> String) throws(Broken) {
    guard holds else { throw Broken(otherwise()) }
}

/// All targets.
enum FuzzTargets {
    static let all: [any FuzzTarget.Type] = [
        HeaderTarget.self, OpenTarget.self, SeekTarget.self, ManifestTarget.self, PackingTarget.self,
        KeyFileTarget.self, KeyringTarget.self, CommandTarget.self, RecoverTarget.self, RotateTarget.self,
        RoundTripTarget.self, DifferentialTarget.self, InspectTarget.self, KeyringFilesTarget.self,
        PathListTarget.self, DecryptTarget.self,
    ]
}
