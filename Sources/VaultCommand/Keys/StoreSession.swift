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
    private let opener: Opener
    private let seen = Seen()

    /// What this run knows about the store.
    private final class Seen {
        /// Whether its keybag is lost.
        var lacksKeybag = false
    }

    /// What opens the store.
    private enum Opener {
        /// The argument that names its device key; nil if none is named.
        case named(KeyArgument?)
        /// The device key that its group holds for an account.
        case held(SymmetricKey, by: StoreGroupSession, String)
    }

    init(
        _ place: PathArgument, device: KeyArgument?, unlocking: [KeyArgument] = [],
        others: [StandardInput.Use] = [], _ console: Console
    ) throws(Failure) {
        let named = (device.map { [$0] } ?? []) + unlocking
        try StandardInput.refuseShared(named.compactMap(\.standardInputUse) + others)
        let keyring = try KeyringSession(UnlockOptions(unlock: []), console)
        self.init(place, .named(device), unlocking: unlocking, keyring, console)
    }

    private init(
        _ place: PathArgument, _ opener: Opener, unlocking: [KeyArgument], _ keyring: KeyringSession,
        _ console: Console
    ) {
        self.place = place
        self.opener = opener
        self.console = console
        self.keyring = keyring
        unlocker = KeyringUnlocker(ofStore: unlocking, keyring)
    }

    /// With `--account`, the store is found in its group.
    init(
        _ options: StoreOptions, unlocking: [KeyArgument] = [], others: [StandardInput.Use] = [], _ console: Console
    ) throws(Failure) {
        let (place, device) = (try options.keyed.place(), try options.device())
        guard let account = try options.account.map({ name throws(Failure) in try name.accountName() }) else {
            try self.init(place, device: device, unlocking: unlocking, others: others, console)
            return
        }
        let uses = unlocking.compactMap(\.standardInputUse) + others
        let group = try StoreGroupSession(place, device: device, others: uses, console)
        try self.init(account, in: group, unlocking: unlocking)
    }

    /// The store of an account of a group.
    init(_ account: String, in group: StoreGroupSession, unlocking: [KeyArgument] = []) throws(Failure) {
        let found = try group.find(account)
        self.init(
            PathArgument(bytes: found.store.bytes), .held(found.device, by: group, account), unlocking: unlocking,
            group.keyring, group.console)
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
            guard (error as? StoreError)?.code == .gone else { throw explained(error, about: subject) }
            try self.subject.attempt {
                // Through a link too: this store was wiped, and no other one is concerned.
                let path = Platform.resolved(place.path) ?? place.path
                try VaultStore.wipe(at: path) { console.warnOfKeptKeys(self.subject, $0, isNoted: $1) }
            }
            if case .held(_, let group, let account) = opener { throw group.isWiped(account) }
            throw Failure(error, about: self.subject)
        }
    }

    /// The failure for an error. Where a file of the store is missing, it says which.
    private func explained(_ error: any Error, about subject: Failure.Subject?) -> Failure {
        var failure = Failure(
            error, about: subject ?? self.subject, system: ExitStatus(ofSystem: error, missing: .noInput))
        if let known = error as? StoreError {
            let isOfKeybag = known.code == .noKeybag || known.code == .locked
            if isOfKeybag, seen.lacksKeybag || !exists("keys.vault") && exists("keys.vault.key") {
                failure.subject = self.subject(ofFile: "keys.vault", in: nil)
                failure.reason = "is missing (\(known.code.name))"
                failure.hint = .keybagIsLost
            } else if known.protection == .afterFirstUnlock {
                // A sealed store does not know which of the two it is.
                failure.reason = "its class (after-first-unlock or complete) is locked (\(known.code.name))"
            }
        } else if (error as? VaultError)?.systemError == .noSuchFileOrDirectory, exists(nil), !exists("store.vault") {
            if exists("shards"), exists("stores") {
                failure.reason = "is a group of stores"
                failure.hint = .nameAccount(self.subject.escaped)
            } else if exists("items") || exists("store.vault.key") {
                failure.subject = self.subject(ofFile: "store.vault", in: nil)
                failure.reason = "is missing"
                failure.hint = .restoreStoreFile
            } else {
                failure.reason = "is no store: it has no store.vault"
            }
        } else if (error as? VaultError)?.systemError == .noSuchFileOrDirectory, let missing = missingFile {
            failure.subject = self.subject(ofFile: missing, in: nil)
            failure.reason = "is missing"
            failure.hint = missing == "items" ? .restoreItems : .restoreStoreFile
        } else if let known = error as? VaultError, known.code == .inputFailed,
            known.systemError == .permissionDenied, let closed = closedFile
        {
            failure.subject = self.subject(ofFile: closed, in: nil)
        }
        return failure
    }

    /// The first file, besides the card, that a store needs and this one lacks.
    private var missingFile: String? {
        let names: [String] = ["store.vault.key", "items"] + (exists("keys.vault") ? ["keys.vault.key"] : [])
        return names.first { (name: String) in !exists(name) }
    }

    /// The first file with keys that this user may not read.
    private var closedFile: String? {
        ["store.vault", "store.vault.key", "keys.vault", "keys.vault.key"].first { (name: String) in
            exists(name) && (try? FileSource(at: .path(path(ofFile: name).path))) == nil
        }
    }

    /// Whether a file of the store is there; nil for its folder.
    private func exists(_ name: String?) -> Bool {
        KeyringPlace.exists(name.map(path(ofFile:)) ?? place)
    }

    /// The path of a file in the folder of the store.
    func path(ofFile name: String) -> PathArgument {
        PathArgument(bytes: place.bytes + Array("\(place.endsWithSlash ? "" : "/")\(name)".utf8))
    }

    /// Refuses to make a store where there is one, before anything is asked for.
    ///
    /// - Parameter isUnlocked: Whether the store is to have what unlocks it, so that one with the class always gets
    ///   the other classes.
    func checkCreating(isUnlocked: Bool) throws(Failure) {
        let card = path(ofFile: "store.vault")
        do throws(Errno) {
            _ = try card.path.stat()
        } catch {
            guard error != .noSuchFileOrDirectory, error != .notDirectory else { return }
            // Taken for a card that is there, it would be called one of which other files are lost.
            throw Failure(error, about: card.subject)
        }
        let hasKeybag = exists("keys.vault")
        if isUnlocked, !hasKeybag {
            guard try open().canWrite(.unlessOpen) else { return }
            var failure = Failure(
                ExitStatus(StoreError.Code.storeExists), subject(ofFile: "keys.vault", in: nil),
                "is missing (\(StoreError.Code.storeExists.name))", hint: .keybagIsLost)
            failure.storeError = .storeExists
            throw failure
        }
        // A store that opens and lacks a class may be one that an interrupted run has left.
        if isUnlocked, let key = try? deviceKey(), let store = try? VaultStore.open(at: place.path, device: key),
            !store.canWrite(.unlessOpen)
        {
            return
        }
        var failure = Failure(
            ExitStatus(StoreError.Code.storeExists), subject,
            "there is a store already (\(StoreError.Code.storeExists.name))")
        failure.storeError = .storeExists
        throw failure
    }

    /// The device key.
    func deviceKey() throws(Failure) -> SymmetricKey {
        switch opener {
        case .held(let key, _, _): return key
        case .named(nil): throw .usage("--device-key", "is missing", hint: .deviceKeyWord)
        case .named(let device?): return try keyring.deviceKey(device)
        }
    }

    /// Opens the store, sealed.
    func open() throws(Failure) -> VaultStore {
        let key = try deviceKey()
        let store = try attempt {
            do {
                return try VaultStore.open(at: place.path, device: key)
            } catch {
                guard (error as? VaultError)?.code == .wrongKey else { throw error }
                let what =
                    switch opener {
                    case .held: "its key in the group does not open the store"
                    case .named: "what --device-key names does not open the store"
                    }
                throw Failure(code: .wrongKey, subject, what)
            }
        }
        // The card has a public key only if there was a keybag, which has the private key.
        seen.lacksKeybag = store.canWrite(.unlessOpen) && !exists("keys.vault")
        return store
    }

    /// Warns if the keybag is lost.
    func warnIfKeybagIsLost() {
        guard seen.lacksKeybag else { return }
        console.warn(subject(ofFile: "keys.vault", in: nil), "is missing", hint: .keybagIsLost)
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
                    if (error as? StoreError)?.code == .storeForged {
                        // Unlocking reads no item: the files with keys do not fit.
                        var failure = explained(error, about: nil)
                        failure.hint = .restoreAllKeyFiles
                        throw failure
                    }
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
                    var failure = explained(error, about: nil)
                    if known.code == .keyStoreUnavailable { failure.hint = .storeKeysUnavailable }
                    throw failure
                }
            }
        }
    }

    /// What messages call an item that the user named.
    ///
    /// - Throws: `Failure` if no item can have this name.
    func subject(of name: String, in store: VaultStore) throws(Failure) -> Failure.Subject {
        _ = try attempt { try store.fileName(of: name) }
        return .text(Escaping.line(Array(name.utf8)))
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

    /// Warns if the device key is a file in the folder of the store, or the key of the group in that of the group.
    func warnIfKeyIsBeside() {
        switch opener {
        case .held(_, let group, _): group.warnIfKeyIsBeside()
        case .named(let device):
            guard let path = device?.path(in: place) else { return }
            console.warn(
                path.subject,
                "is in the folder of the store: class always protects nothing, and anyone who can write this folder "
                    + "can replace the card", hint: .storedElsewhere)
        }
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

extension KeyArgument {
    /// The path of the key, if it is a file in a folder; else nil.
    func path(in folder: PathArgument) -> PathArgument? {
        guard let path, let key = Platform.resolved(path.path), let folder = Platform.resolved(folder.path),
            key.starts(with: folder)
        else { return nil }
        return path
    }
}

extension KeyringSession {
    /// The device key that an argument names.
    func deviceKey(_ argument: KeyArgument, _ option: String = "--device-key") throws(Failure) -> SymmetricKey {
        guard let key = try secret(argument, for: .opening).key else {
            throw .usage(option, "names no key", hint: .deviceKeyWord)
        }
        return key.key
    }
}

extension [Secret] {
    /// Refuses the device key as what unlocks a store: with it, the other classes would protect nothing.
    ///
    /// - Parameter ids: The IDs of the keys that open the store or its group.
    func refuseDeviceKey(_ ids: Set<KeyID>, _ option: String) throws(Failure) {
        guard keys.contains(where: { ids.contains($0.key.id) }) else { return }
        throw .usage(
            option, "this is the device key of the store: whoever has it would read every class",
            hint: .otherStoreUnlocker)
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
