import Synchronization
import VaultCrypto
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

/// A container and what opens it, in the form of a vector. Of the vector's fields, only the secrets count. The field
/// `file-key` is the container's file key, if it is known; with it, a changed container can be sealed again.
struct FuzzInput {
    /// Everything before the container.
    let head: [UInt8]
    let container: [UInt8]
    let secrets: Secrets

    /// The fields of the head.
    struct Secrets: Sendable {
        let symmetric: [SymmetricKey]
        let passphrases: [Passphrase]
        let identities: [Identity]
        let plugins: [PluginIdentity]
        /// What the plugins answer.
        let standIn: StandInPlugins
        let context: Context
        let fileKey: [UInt8]?
        /// The keys, for a caller that takes them in hexadecimal.
        let vector: Vector

        var keys: FuzzKeys { FuzzKeys(self) }
        /// The keys without private slots. Neither the command nor the reference has any.
        var keySet: FuzzKeys {
            var keys = keys
            keys.wrapping = nil
            return keys
        }
        /// Each secret alone. The first key opens private slots too.
        var singles: [FuzzKeys] {
            symmetric.map { FuzzKeys(keys: [$0]) } + passphrases.map { FuzzKeys(passphrases: [$0]) }
                + identities.map { FuzzKeys(identities: [$0]) }
                + plugins.map { FuzzKeys(plugins: [$0], standIn: standIn) }
        }
        /// The fingerprints of the recipients whose identities are known.
        var recipients: [[UInt8]] {
            identities.map(\.publicKey.fingerprint) + plugins.flatMap(\.knownRecipients).map(\.fingerprint)
        }

        /// What a plugin gives for stanzas, if it is a secret.
        func answer(for stanzas: [UInt8]) -> [UInt8]? {
            plugins.lazy.compactMap { standIn.answer($0.plugin, for: stanzas) }.first {
                $0.count == StanzaSecret.byteCount
            }
        }
    }

    /// Limits for opening: a fuzzer has no time for Argon2id and no memory for bombs.
    static let limits: OpenLimits = {
        var limits = OpenLimits()
        limits.maximumMemoryKiB = 64
        limits.maximumPasses = 3
        limits.maximumStretchingKiB = 256
        limits.maximumPlaintextLength = 1 << 22
        return limits
    }()

    /// What opens the container, within the limits.
    var credentials: Credentials { credentials(secrets.keys) }

    /// The same with other keys.
    func credentials(_ keys: any KeyProvider) -> Credentials {
        Credentials(keys, context: secrets.context, limits: Self.limits)
    }

    /// Whether an error says that a plaintext is longer than these limits allow. Only the text of the error says which
    /// limit was exceeded.
    static func isOfLength(_ error: VaultError?) -> Bool {
        do throws(VaultError) {
            try limits.check(plaintextLength: .max)
            return false
        } catch let known {
            return known.code == error?.code && known.message == error?.message
        }
    }

    /// Nil if the input does not begin like a vector.
    init?(_ input: [UInt8]) {
        guard let end = input.indices.first(where: { input[$0...].starts(with: [0x0A, 0x0A]) }) else { return nil }
        self.init(head: [UInt8](input[...(end + 1)]), [UInt8](input[(end + 2)...]))
    }

    init?(head: [UInt8], _ container: [UInt8]) {
        self.head = head
        self.container = container
        guard let secrets = Secrets.of(head) else { return nil }
        self.secrets = secrets
    }

    /// The head with these lines in place of all lines of the same names.
    func head(with lines: [String], inPlaceOf names: Set<String>) -> [UInt8] {
        let old = String(decoding: head, as: UTF8.self).split(separator: "\n").map(String.init)
        let kept = old.filter { !names.contains(String($0.prefix { $0 != ":" })) }
        return [UInt8](((kept + lines).joined(separator: "\n") + "\n\n").utf8)
    }

    /// A number that depends on the container, for random choices.
    var seed: UInt64 {
        container.suffix(4096).reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

extension FuzzInput.Secrets {
    /// The same heads recur, and each secret takes pages of its own.
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
            let context = try? vector.context(), let keys = try? vector.secrets(),
            let identities = try? vector.identities(), let standIn = try? StandInPlugins(vector)
        else { return nil }
        (symmetric, passphrases) = keys
        (self.identities, plugins) = identities
        self.standIn = standIn
        fileKey = vector.bytes("file-key").flatMap { $0.count == 32 ? $0 : nil }
        self.context = context
        self.vector = vector
    }
}
