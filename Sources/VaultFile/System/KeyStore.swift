import SystemPackage
import VaultCrypto
import VaultFormat
import VaultStream
internal import VaultSystem

/// Short secrets that the kernel keeps for the user, each under a name and until a time (keyrings(7)). All processes of
/// the user can find and read them, in every session; of other users, only root can. Log-out does not end them.
enum KeyStore {
    /// Keeps a secret, in the place of one that has the same name.
    ///
    /// - Parameter seconds: for how long; nil for as long as the system runs.
    /// - Throws: `keyStoreUnavailable`; `outputFailed` if there is no room for it.
    static func keep(_ secret: borrowing SecretBuffer, as name: String, seconds: UInt32?) throws(VaultError) {
        let calls = SystemCalls.current
        do throws(Errno) {
            // A session may have no link to the user's keyring, and then no process of it can make a key there. A link
            // to a key of the process is possible in every session.
            let key = try secret.withBytes { bytes throws(Errno) in
                try unsafe bytes.withUnsafeBytes { bytes throws(Errno) in
                    try retrying { unsafe calls.addKey(name, bytes) }
                }
            }
            do throws(Errno) {
                // Before the link: without it, a killed process could leave a key that never ends.
                if let seconds { try retrying { calls.expireKey(key, seconds) } }
                try retrying { calls.shareKey(key) }
                try retrying { calls.linkKey(key) }
            } catch {
                _ = calls.invalidateKey(key)
                throw error
            }
        } catch {
            throw isRefusal(error)
                ? unavailable(error)
                : VaultError(.outputFailed, "the system cannot keep the key: \(error)", systemError: error)
        }
    }

    /// The secret of this name; nil if there is none with at most `limit` bytes.
    ///
    /// - Throws: `keyStoreUnavailable`, `memoryUnavailable`; `inputFailed` if the system cannot tell.
    static func secret(_ name: String, atMost limit: Int) throws(VaultError) -> SecretBuffer? {
        guard let key = try number(of: name) else { return nil }
        return try bytes(of: key, atMost: limit)
    }

    private static func bytes(of key: Int, atMost limit: Int) throws(VaultError) -> SecretBuffer? {
        var room = try SecretBuffer(count: limit)
        let length = try ifThere { () throws(Errno) in
            try room.withMutableBytes { bytes throws(Errno) in
                try unsafe bytes.withUnsafeMutableBytes { bytes throws(Errno) in
                    try retrying { unsafe SystemCalls.current.readKey(key, bytes) }
                }
            }
        }
        // The length is that of the whole secret, also if there is no room for it.
        guard let length, (1...limit).contains(length) else { return nil }
        var secret = try SecretBuffer(count: length)
        room.withBytes { room in secret.withMutableBytes { $0.replace(at: 0, with: room.extracting(first: length)) } }
        return secret
    }

    /// Drops the secret of this name.
    ///
    /// - Returns: whether there was one.
    /// - Throws: `keyStoreUnavailable`; `inputFailed` if the system cannot tell; `outputFailed` if it is still there.
    static func drop(_ name: String) throws(VaultError) -> Bool {
        guard let key = try number(of: name) else { return false }
        try drop(key)
        return true
    }

    /// Drops the secrets whose names begin with a prefix and whose bytes are of a kind. The names need not be known.
    ///
    /// - Parameters:
    ///   - limit: the most bytes of such a secret. A longer one stays.
    ///   - isWanted: whether a secret is dropped.
    /// - Throws: the first error, when the others were tried: `keyStoreUnavailable`, `memoryUnavailable`; `inputFailed`
    ///   if the system cannot tell; `outputFailed` if one of them is still there.
    static func dropAll(
        named prefix: String, atMost limit: Int, where isWanted: (Span<UInt8>) -> Bool
    ) throws(VaultError) {
        var failure: VaultError?
        for key in try numbers() {
            // One that cannot be dropped, or read, must not save the others.
            do throws(VaultError) {
                // Secrets of other programs are not read.
                guard name(of: key)?.starts(with: prefix.utf8) == true,
                    let secret = try bytes(of: key, atMost: limit), secret.withBytes(isWanted)
                else { continue }
                try drop(key)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// The numbers of all keys of the user.
    private static func numbers() throws(VaultError) -> [Int] {
        // Another program may add keys between two calls.
        for count in [1 << 12, 1 << 16, 1 << 20] {
            var bytes = [UInt8](repeating: 0, count: count)
            let length = try ifThere { () throws(Errno) in
                try retrying { unsafe bytes.withUnsafeMutableBytes { unsafe SystemCalls.current.listKeys($0) } }
            }
            guard let length else { return [] }
            guard length <= count else { continue }
            // Numbers of keys are positive, in the byte order of the machine.
            return stride(from: 0, to: length - length % 4, by: 4).map { place in
                let isLittle = Int(1).littleEndian == 1
                return (0..<4).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * (isLittle ? $1 : 3 - $1)) }
            }
        }
        throw VaultError(.inputFailed, "the system keeps more keys than this program can list")
    }

    /// The name of a key of the kind that `keep` makes; nil for another one.
    private static func name(of key: Int) -> [UInt8]? {
        // A longer name is not one of ours.
        var text = [UInt8](repeating: 0, count: 512)
        let length = unsafe text.withUnsafeMutableBytes { unsafe SystemCalls.current.describeKey(key, $0) }
        // A key that this process may not look at is that of another program.
        guard (1...text.count).contains(length) else { return nil }
        let fields = text.prefix(length - 1).split(
            separator: UInt8(ascii: ";"), maxSplits: 4, omittingEmptySubsequences: false)
        guard fields.count == 5, fields[0] == Array("user".utf8)[...] else { return nil }
        return Array(fields[4])
    }

    private static func drop(_ key: Int) throws(VaultError) {
        let calls = SystemCalls.current
        // Either call alone takes it from those who search. The second one also takes it from a process that has found
        // it already.
        let isUnlinked = calls.unlinkKey(key) != -1
        let isInvalid = calls.invalidateKey(key) != -1
        guard isUnlinked || isInvalid else {
            let error = Errno(rawValue: SystemCalls.errorNumber)
            throw VaultError(.outputFailed, "the system does not drop the key: \(error)", systemError: error)
        }
    }

    private static func number(of name: String) throws(VaultError) -> Int? {
        try ifThere { () throws(Errno) in try retrying { SystemCalls.current.findKey(name) } }
    }

    /// The result of a call about a key; nil if there is no such key, or it has ended.
    private static func ifThere<R>(_ call: () throws(Errno) -> R) throws(VaultError) -> R? {
        do throws(Errno) {
            return try call()
        } catch {
            if SystemCalls.isGone(error) { return nil }
            throw isRefusal(error)
                ? unavailable(error)
                : VaultError(
                    .inputFailed, "the system does not tell whether it keeps the key: \(error)", systemError: error)
        }
    }

    /// Whether the system has no such calls, or refuses them to this process, as in many containers.
    private static func isRefusal(_ error: Errno) -> Bool {
        [.noFunction, .notPermitted, .permissionDenied, .notSupportedOnSocket].contains(error)
    }

    private static func unavailable(_ error: Errno) -> VaultError {
        VaultError(
            .keyStoreUnavailable, "the system does not let this program keep anything unlocked: \(error)",
            systemError: error)
    }
}
