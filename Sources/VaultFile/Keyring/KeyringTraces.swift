public import VaultFormat

extension Keyring {
    /// What happened to the bytes of a file that was replaced. A worse result is a greater one.
    public enum Erasure: Hashable, Comparable, Sendable {
        /// No file was replaced.
        case notNeeded
        /// They were overwritten with zeros. A drive or a backup may still keep copies of them.
        case overwritten
        /// The file has other names (hard links). Under those it still exists, with the keys that it held.
        case linkedElsewhere
        /// They could not be overwritten.
        case failed(VaultError)

        private var rank: Int {
            switch self {
            case .notNeeded: 0
            case .overwritten: 1
            case .linkedElsewhere: 2
            case .failed: 3
            }
        }

        /// Whether `one` is less bad than `other`.
        public static func < (one: Erasure, other: Erasure) -> Bool {
            one.rank < other.rank
        }
    }

    /// What happened to the unlock key.
    public enum Exchange: Hashable, Sendable {
        /// There was no reason to exchange it.
        case notNeeded
        /// It was exchanged. The new unlock key does not open older copies of the keyring.
        case done
        /// There was a reason, but the unlock key stays, because not every secret that unlocks the keyring is at hand.
        /// What unlocks the keyring now also opens older copies of it; use `protect` to end that.
        case othersUnlockIt
        /// There was a reason, but the exchange failed. The rest is as for `othersUnlockIt`.
        case failed(VaultError)

        static func failed(of error: any Error) -> Exchange {
            .failed(error as? VaultError ?? VaultError(.outputFailed, "the unlock key could not be exchanged"))
        }
    }

    /// Why the unlock key was to be exchanged. The set is open: a later version of the library can add reasons.
    public struct ExchangeReason: Hashable, Sendable, CustomStringConvertible {
        /// One word for it.
        public let name: String

        private init(_ name: String) {
            self.name = name
        }

        /// What unlocks the keyring was to be replaced.
        public static let asked = ExchangeReason("asked")
        /// A key was destroyed, and older copies of the keyring hold it.
        public static let destroyedKey = ExchangeReason("destroyedKey")
        /// An exchange had stopped before its end (KEYRING-13). The reason of that exchange is not known: older copies
        /// may hold a destroyed key, or open for a person who was to be shut out.
        public static let interrupted = ExchangeReason("interrupted")

        /// The same as ``name``.
        public var description: String { name }
    }

    /// The result of a change to a keyring, and what is left of the files that it replaced.
    public struct Changed<Value> {
        /// What the change returned.
        public let result: Value
        /// What is left of the files that it replaced.
        public let traces: Traces
        /// The state of the header copies of the keyring file before the change, which made damaged ones whole.
        public let health: Health
        /// The state of the header copies of the file with the unlock key before the change, which made damaged ones
        /// whole.
        public internal(set) var unlockKeyHealth: Health

        init(result: Value, traces: Traces, health: Health = .intact, unlockKeyHealth: Health = .intact) {
            self.result = result
            self.traces = traces
            self.health = health
            self.unlockKeyHealth = unlockKeyHealth
        }
    }

    /// What is left of the files that a change has replaced, as far as the library can know.
    public struct Traces: Hashable, Sendable {
        /// What happened to the old keyring file; the worst result, if it was replaced several times.
        public internal(set) var keyring = Erasure.notNeeded
        /// What happened to the old file with the unlock key.
        public internal(set) var unlockKey = Erasure.notNeeded
        /// What happened to the unlock key.
        public internal(set) var exchange = Exchange.notNeeded
        /// The reason to exchange the unlock key; nil if there was none.
        public internal(set) var reason: ExchangeReason?

        init() {}
    }
}

extension Keyring.Changed: Sendable where Value: Sendable {}
