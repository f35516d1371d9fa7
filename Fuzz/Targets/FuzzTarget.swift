import VaultCrypto
import VaultTestSupport

/// Code that takes untrusted bytes, and the properties that must hold for all of them.
protocol FuzzTarget: SendableMetatype {
    /// The target's name on the command line and of its folder of regressions.
    static var name: String { get }

    /// Tries an input.
    ///
    /// - Throws: `Broken` if a property does not hold, or an error that must not come out.
    static func run(_ input: [UInt8]) throws

    /// Turns one input into another.
    ///
    /// - Parameter change: Changes bytes like the fuzzer, up to a length.
    static func mutate(_ input: [UInt8], _ random: inout SeededRandom, change: ByteChange, limit: Int) -> [UInt8]
}

/// Changes bytes in any way, up to a length.
typealias ByteChange = (_ bytes: [UInt8], _ limit: Int) -> [UInt8]

extension FuzzTarget {
    /// Tries an input with one of the two libraries that encrypt records. The length chooses it, so a second run uses
    /// the same one.
    static func attempt(_ input: [UInt8]) throws {
        let engines = CipherEngine.available
        try CipherEngine.$chosen.withValue(engines[input.count % engines.count]) { try run(input) }
    }

    /// Changes bytes as the fuzzer does without knowledge of the input.
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

/// - Throws: `Broken` if a property does not hold.
func require(_ holds: Bool, _ otherwise: @autoclosure () -> String) throws(Broken) {
    guard holds else { throw Broken(otherwise()) }
}

/// All targets.
enum FuzzTargets {
    static let all: [any FuzzTarget.Type] = [
        HeaderTarget.self, OpenTarget.self, SeekTarget.self, ManifestTarget.self, PackingTarget.self,
        KeyFileTarget.self, KeyringTarget.self, CommandTarget.self, RecoverTarget.self, RotateTarget.self,
        RoundTripTarget.self, DifferentialTarget.self, InspectTarget.self, KeyringFilesTarget.self,
        PathListTarget.self, DecryptTarget.self, PassphraseTarget.self, RecipientsTarget.self,
        IdentitiesTarget.self, StanzaTarget.self, PluginTarget.self,
        TarStreamTarget.self, TarIndexTarget.self, ExtractTarget.self, LibraryTarget.self, StoreTextsTarget.self,
    ]
}
