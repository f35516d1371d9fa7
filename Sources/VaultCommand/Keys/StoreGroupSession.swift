internal import VaultFile
internal import VaultStore

/// The group of stores of a run.
final class StoreGroupSession {
    let place: PathArgument
    let console: Console
    let keyring: KeyringSession
    private let device: KeyArgument
    private var opened: StoreGroup?

    init(
        _ place: PathArgument, device: KeyArgument, others: [StandardInput.Use] = [], _ console: Console
    ) throws(Failure) {
        try StandardInput.refuseShared([device.standardInputUse].compactMap { $0 } + others)
        self.place = place
        self.device = device
        self.console = console
        keyring = try KeyringSession(UnlockOptions(unlock: []), console)
    }

    var subject: Failure.Subject { place.subject }

    /// What messages call a folder or a file of the group.
    func subject(of folder: String) -> Failure.Subject {
        .path(place.bytes + Array("\(place.endsWithSlash ? "" : "/")\(folder)".utf8))
    }

    /// The key of the group.
    func key() throws(Failure) -> SymmetricKey { try keyring.deviceKey(device) }

    /// Runs `body`. Its errors become failures about the group.
    ///
    /// - Parameter missing: The status for a file that is missing or cannot be made.
    func attempt<R>(missing: ExitStatus = .noInput, _ body: () throws -> R) throws(Failure) -> R {
        do {
            return try body()
        } catch {
            var failure = Failure(error, about: subject, system: ExitStatus(ofSystem: error, missing: missing))
            if (error as? VaultError)?.systemError == .noSuchFileOrDirectory, exists("stores"), exists("shards"),
                let shard = missingFiles.first
            {
                failure.subject = subject(of: shard)
                failure.reason = "is missing"
                failure.hint = shard.hasPrefix("shards/00.") ? .restoreFirstShard : .restoreShard
            }
            throw failure
        }
    }

    /// Opens the group.
    ///
    /// - Parameter other: Another key that unlocks some of its shards.
    func open(or other: SymmetricKey? = nil) throws(Failure) -> StoreGroup {
        if let opened { return opened }
        let keys = try [key()] + [other].compactMap { $0 }
        let group = try attempt {
            do {
                return try StoreGroup.open(at: place.path, unlocking: KeySet(keys: keys))
            } catch {
                guard (error as? VaultError)?.code == .wrongKey else { throw error }
                throw Failure(
                    code: .wrongKey, subject, "what --device-key names does not open the group",
                    hint: .finishGroupRenewal)
            }
        }
        opened = group
        return group
    }

    /// Finds an account.
    func find(_ account: String) throws(Failure) -> StoreGroup.Account {
        let group = try open()
        return try attempt(account: account) { try group.find(account) }
    }

    /// Runs `body`, which is about an account that the user named. Its errors become failures.
    func attempt<R>(account: String, missing: ExitStatus = .noInput, _ body: () throws -> R) throws(Failure) -> R {
        do throws(Failure) {
            return try attempt(missing: missing, body)
        } catch {
            var failure = error
            if failure.storeError == .noSuchAccount {
                failure.reason = "there is no account \(Self.escaped(account)) (\(StoreError.Code.noSuchAccount.name))"
            } else if failure.storeError == .gone {
                failure = isWiped(account)
            } else if failure.error == .wrongKey {
                // The first shard has opened.
                failure.reason = "the shard of this account does not open with the key that opens the group (wrongKey)"
                failure.hint = .finishGroupRenewal
            }
            throw failure
        }
    }

    /// The failure if the store of an account was wiped. The group was not: to remove its folder would end all accounts.
    func isWiped(_ account: String) -> Failure {
        let code = StoreError.Code.gone
        var failure = Failure(
            ExitStatus(code), subject, "the store of the account \(Self.escaped(account)) was wiped (\(code.name))",
            hint: .eraseWipedAccount)
        failure.storeError = code
        return failure
    }

    /// The shards that lack one of their two files. Without them, the accounts in them are lost.
    var missingFiles: [String] {
        (0..<256).flatMap { number in
            let digits = String(number, radix: 16)
            let name = "shards/\(digits.utf8.count == 1 ? "0" : "")\(digits).vault"
            return [name, name + ".key"]
        }.filter { !exists($0) }
    }

    private func exists(_ name: String) -> Bool {
        KeyringPlace.exists(PathArgument(bytes: place.bytes + Array("\(place.endsWithSlash ? "" : "/")\(name)".utf8)))
    }

    /// The name of an account for messages.
    static func escaped(_ account: String) -> String { Escaping.line(Array(account.utf8)) }

    /// Warns if the key of the group is a file in its folder.
    func warnIfKeyIsBeside() {
        guard let path = device.path(in: place) else { return }
        console.warn(
            path.subject, "is in the folder of the group: anyone who gets the folder opens the stores of all accounts",
            hint: .storedElsewhere)
    }

    /// A result about the group.
    func report() -> Report { Report(.ok, about: subject) }
}
