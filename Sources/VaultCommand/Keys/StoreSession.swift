internal import SystemPackage
internal import VaultFile
internal import VaultStore
internal import VaultSystem

/// The store of a run: opens it with the device key, and unlocks it with what `--unlock` names or the system keeps.
struct StoreSession {
    let place: PathArgument
    let console: Console
    let keyring: KeyringSession
    let unlocker: KeyringUnlocker
    private let device: KeyArgument?

    init(
        _ place: PathArgument, device: KeyArgument?, unlocking: [KeyArgument] = [],
        others: [StandardInput.Use] = [], _ console: Console
    ) throws(Failure) {
        self.place = place
        self.device = device
        self.console = console
        let named = (device.map { [$0] } ?? []) + unlocking
        try StandardInput.refuseShared(named.compactMap(\.standardInputUse) + others)
        keyring = try KeyringSession(UnlockOptions(unlock: []), console)
        unlocker = KeyringUnlocker(ofStore: unlocking, keyring)
    }

    init(
        _ options: StoreOptions, unlocking: [KeyArgument] = [], others: [StandardInput.Use] = [], _ console: Console
    ) throws(Failure) {
        try self.init(options.place(), device: options.device(), unlocking: unlocking, others: others, console)
    }

    var subject: Failure.Subject { place.subject }

    /// Runs `body`. Its errors become failures. If the store was wiped, the wipe is finished first: the program that
    /// began it may have been killed.
    ///
    /// - Parameter subject: What they are about; nil for the store.
    func attempt<R>(about subject: Failure.Subject? = nil, _ body: () throws -> R) throws(Failure) -> R {
        do {
            return try body()
        } catch {
            Signals.endIfClosedPipe(error)
            guard (error as? StoreError)?.code == .gone else {
                throw Failure(
                    error, about: subject ?? self.subject, system: ExitStatus(ofSystem: error, missing: .noInput))
            }
            try self.subject.attempt { try VaultStore.wipe(at: place.path) }
            throw Failure(error, about: self.subject)
        }
    }

    /// The device key.
    func deviceKey() throws(Failure) -> SymmetricKey {
        guard let device else { throw .usage("--device-key", "is missing", hint: .deviceKeyWord) }
        guard let key = try keyring.secret(device, for: .opening).key else {
            throw .usage("--device-key", "names no key", hint: .deviceKeyWord)
        }
        return key.key
    }

    /// Opens the store, sealed.
    func open() throws(Failure) -> VaultStore {
        let key = try deviceKey()
        return try attempt {
            do {
                return try VaultStore.open(at: place.path, device: key)
            } catch {
                guard (error as? VaultError)?.code == .wrongKey else { throw error }
                throw Failure(code: .wrongKey, subject, "what --device-key names does not open the store")
            }
        }
    }

    /// Opens the store for its items: unlocked with what `--unlock` names, else with what `store unlock` has left.
    func openForItems() throws(Failure) -> VaultStore {
        let store = try open()
        if unlocker.isNamedOnLine {
            try unlock { try store.unlock(with: unlocker) }
        } else {
            _ = try unlockKept(store)
        }
        return store
    }

    /// Makes what the system keeps available.
    func unlockKept(_ store: VaultStore) throws(Failure) -> Set<ItemProtection> {
        try attempt {
            try store.unlockKept { error in
                console.warn(subject, "is treated as locked, whatever store unlock did: \(error.message)")
            }
        }
    }

    /// Runs `body`, which unlocks the store. If a typed passphrase does not fit, it is asked for again.
    func unlock<R>(_ body: () throws -> R) throws(Failure) -> R {
        try attempt {
            while true {
                do {
                    return try body()
                } catch {
                    guard let known = error as? VaultError else { throw error }
                    if known.code == .wrongKey {
                        if unlocker.asksAgain() { continue }
                        var failure =
                            unlocker.hadSomething
                            ? Failure(.noKeyFits, subject, unlocker.mismatch)
                            : Failure(
                                .noKey, subject, "no passphrase unlocks the store, and nothing else was given",
                                hint: .nameStoreUnlocker)
                        failure.error = .wrongKey
                        throw failure
                    }
                    var failure = Failure(error, about: subject, system: ExitStatus(ofSystem: error, missing: .noInput))
                    if known.code == .keyStoreUnavailable { failure.hint = .storeKeysUnavailable }
                    throw failure
                }
            }
        }
    }

    /// What messages call an item: the first digits of its file, which do not tell its name.
    func subject(of name: String, in store: VaultStore) throws(Failure) -> Failure.Subject {
        try attempt { .text("item \(try store.fileName(of: name).prefix(8))") }
    }

    /// What messages call the file of an item.
    ///
    /// - Parameter folder: the folder of it in the store; nil for the folder of the store.
    func subject(ofFile file: String, in folder: String? = "items") -> Failure.Subject {
        let slash = place.endsWithSlash ? "" : "/"
        return .path(place.bytes + Array("\(slash)\(folder.map { $0 + "/" } ?? "")\(file)".utf8))
    }

    /// Runs `body` for each of several items. After a failure it goes on with the next, unless the store is gone.
    func forEach(
        _ names: [String], in store: VaultStore, _ body: (String, Failure.Subject) throws -> ExitStatus
    ) throws -> ExitStatus {
        var status = ExitStatus.done
        for name in names {
            do {
                status = status.followed(by: try body(name, subject(of: name, in: store)))
            } catch {
                let failure = Failure(error, about: subject)
                guard failure.status != .gone else { throw failure }
                status = status.followed(by: console.report(failure, about: subject))
            }
        }
        return status
    }

    /// Warns if the device key is a file in the folder of the store.
    func warnIfKeyIsBeside() {
        guard let path = device?.path, let key = Platform.resolved(path.path),
            let folder = Platform.resolved(place.path), key.starts(with: folder)
        else { return }
        console.warn(
            path.subject,
            "is in the folder of the store: class always protects nothing, and anyone who can write this folder can "
                + "replace the card", hint: .storedElsewhere)
    }

    /// A result about the store.
    func report() -> Report { Report(.ok, about: subject) }

    /// A result about an item.
    func report(_ item: StoreItem) -> Report {
        var report = report()
        report.item = ItemReport(item)
        return report
    }
}

extension ItemReport {
    init(_ item: StoreItem) {
        name = item.name
        `class` = ClassName(item.protection).rawValue
        length = item.length
        version = item.version.description
    }
}

extension StoreItem {
    /// Its name for the terminal.
    var escapedName: String { Escaping.line(Array(name.utf8)) }
}
