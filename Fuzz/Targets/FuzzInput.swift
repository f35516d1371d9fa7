import Synchronization
import VaultCrypto
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

/// A container and what opens it: the form of a vector, of which only the secrets count. The field `file-key` is the
/// file key of the container, where it is known: with it what was changed can be sealed again.
struct FuzzInput {
    /// All before the container.
    let head: [UInt8]
    let container: [UInt8]
    let secrets: Secrets

    /// What the head says.
    struct Secrets: Sendable {
        let symmetric: [SymmetricKey]
        let passphrases: [Passphrase]
        let context: Context
        let fileKey: [UInt8]?
        /// Of who asks for keys in hexadecimal digits.
        let vector: Vector

        var keys: FuzzKeys { FuzzKeys(symmetric, passphrases) }
        /// Without private slots, of which no caller of the command or of the reference has any.
        var keySet: KeySet { KeySet(keys: symmetric, passphrases: passphrases) }
    }

    /// What opening may cost: a fuzzer has no time for Argon2id, and no memory for bombs.
    static let limits: OpenLimits = {
        var limits = OpenLimits()
        limits.maximumMemoryKiB = 64
        limits.maximumPasses = 3
        limits.maximumStretchingKiB = 256
        limits.maximumPlaintextLength = 1 << 22
        return limits
    }()

    /// Whether an error says that a plaintext is longer than these limits allow. Which of several limits it was that an
    /// input exceeded, its words alone say.
    static func isOfLength(_ error: VaultError?) -> Bool {
        do throws(VaultError) {
            try limits.check(plaintextLength: .max)
            return false
        } catch let known {
            return known.code == error?.code && known.check == error?.check
        }
    }

    /// Nil for what does not begin like a vector.
    init?(_ input: [UInt8]) {
        guard let end = input.indices.first(where: { input[$0...].starts(with: [0x0A, 0x0A]) }) else { return nil }
        head = [UInt8](input[...(end + 1)])
        container = [UInt8](input[(end + 2)...])
        guard let secrets = Secrets.of(head) else { return nil }
        self.secrets = secrets
    }

    /// The head with some lines in the place of all those with these names.
    func head(with lines: [String], inPlaceOf names: Set<String>) -> [UInt8] {
        let old = String(decoding: head, as: UTF8.self).split(separator: "\n").map(String.init)
        let kept = old.filter { !names.contains(String($0.prefix { $0 != ":" })) }
        return [UInt8](((kept + lines).joined(separator: "\n") + "\n\n").utf8)
    }

    /// A number that is another for another container, for what is chosen at random.
    var seed: UInt64 {
        container.suffix(4096).reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

extension FuzzInput.Secrets {
    /// Heads come again and again, and each secret takes pages of its own.
    private static let known = Mutex<[[UInt8]: Self?]>([:])

    static func of(_ head: [UInt8]) -> Self? {
        if let secrets = known.withLock({ $0[head] }) { return secrets }
        let secrets = Self(head)
        known.withLock { known in
            if known.count > 500 { known.removeAll() }
            known[head] = .some(secrets)
        }
        return secrets
    }

    private init?(_ head: [UInt8]) {
        guard let vector = try? Vector(name: "input", contents: head),
            let context = try? vector.context(), let keys = try? vector.secrets()
        else { return nil }
        (symmetric, passphrases) = keys
        fileKey = vector.bytes("file-key").flatMap { $0.count == 32 ? $0 : nil }
        self.context = context
        self.vector = vector
    }
}
