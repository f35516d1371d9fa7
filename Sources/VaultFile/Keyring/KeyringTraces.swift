public import VaultFormat

extension Keyring {
    /// What became of the bytes of a file that was replaced. The worst is the greatest.
    public enum Erasure: Hashable, Comparable, Sendable {
        /// No file was replaced.
        case notNeeded
        /// They were overwritten with zeros. Nothing can be said of what a drive keeps of them, or a backup.
        case overwritten
        /// The file has other names, hard links, under which it is left as it was, with the keys that it held.
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

        /// Whether the one is not as bad as the other.
        public static func < (one: Erasure, other: Erasure) -> Bool {
            one.rank < other.rank
        }
    }

    /// What became of the unlock key.
    public enum Exchange: Hashable, Sendable {
        /// There was no reason to exchange it.
        case notNeeded
        /// There is another: what unlocks the keyring now does not unlock older copies of it.
        case done
        /// There was a reason, and the unlock key stays, because not everything that unlocks the keyring is at hand.
        /// Older copies of the keyring open with what unlocks it now; `protect` ends that.
        case othersUnlockIt
        /// There was a reason, and the unlock key could not be exchanged; otherwise as `othersUnlockIt`.
        case failed(VaultError)

        static func failed(of error: any Error) -> Exchange {
            .failed(error as? VaultError ?? VaultError(.outputFailed, "it could not be exchanged"))
        }
    }

    /// Why the unlock key was to be exchanged.
    public enum ExchangeReason: Hashable, Sendable {
        /// What unlocks the keyring was to be replaced.
        case asked
        /// A key was destroyed, which older copies of the keyring hold.
        case destroyedKey
        /// An exchange was found that had stopped before its end (KEYRING-13). For which reason it was begun is not
        /// known: older copies may hold a key that was destroyed, or open for somebody who was to be shut out.
        case interrupted
    }

    /// What a change of a keyring returned, and what is left of what it replaced.
    public struct Changed<Result> {
        /// What the change returned.
        public let result: Result
        /// What is left of the files that it replaced.
        public let traces: Traces
    }

    /// What is left of the files that a change has replaced, as far as that can be known here.
    public struct Traces: Hashable, Sendable {
        /// Of the keyring file, the worst where it was replaced more than once.
        public internal(set) var keyring = Erasure.notNeeded
        /// Of the file with the unlock key.
        public internal(set) var unlockKey = Erasure.notNeeded
        /// What became of the unlock key.
        public internal(set) var exchange = Exchange.notNeeded
        /// Why it was to be exchanged; nil where there was no reason.
        public internal(set) var reason: ExchangeReason?

        init() {}
    }
}

extension Keyring.Changed: Sendable where Result: Sendable {}
