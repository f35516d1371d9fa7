internal import ArgumentParser
internal import VaultFile
internal import VaultStore
internal import VaultSystem

/// The options that name a store, or a store of a group.
struct StoreOptions: ParsableArguments {
    @OptionGroup var keyed: KeyedFolderOptions

    @Option(
        name: .customLong("account"), parsing: .unconditional,
        help: ArgumentHelp(
            "The store of this account. --store and --device-key are then those of its group.", valueName: "name"))
    var account: BytesArgument?

    /// What names the device key.
    func device() throws(Failure) -> KeyArgument { try keyed.device() }
}

/// The options that name the folder of a store or of a group, and what opens it.
struct KeyedFolderOptions: ParsableArguments {
    @OptionGroup var folder: StoreFolderOption

    @Option(
        name: .customLong("device-key"), parsing: .unconditional,
        help: ArgumentHelp(
            "The key that opens the store: file:PATH, command:COMMAND, or a key's NAME or ID in the keyring.",
            valueName: "k"))
    var deviceKey: KeyArgument?

    /// The folder.
    func place() throws(Failure) -> PathArgument { try folder.place() }

    /// What names the device key; nil if nothing does.
    func deviceIfNamed() throws(Failure) -> KeyArgument? {
        try deviceKey?.deviceKey("--device-key")
    }

    /// What names the device key.
    func device() throws(Failure) -> KeyArgument {
        guard let argument = try deviceIfNamed() else {
            throw .usage("--device-key", "is missing", hint: .deviceKeyWord)
        }
        return argument
    }
}

/// The option that names the folder of a store.
struct StoreFolderOption: ParsableArguments {
    @Option(
        name: [.customShort("S"), .customLong("store")], parsing: .unconditional,
        help: ArgumentHelp(
            "The folder of the store; without it, the one that VAULTFILE_STORE names.", valueName: "folder"))
    var store: PathArgument?

    /// The folder of the store.
    func place() throws(Failure) -> PathArgument {
        if let store { return store }
        guard let bytes = Variable.value(Variable.store) else {
            throw .usage("--store", "is missing", hint: .nameStore)
        }
        return PathArgument(bytes: bytes)
    }
}

/// The option that names what unlocks a store.
struct StoreUnlockOption: ParsableArguments {
    @Option(
        name: .customLong("unlock"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            """
            Unlock the store with this: file:PATH, command:COMMAND, a key's NAME or ID in the keyring, passphrase, \
            passphrase-file:PATH or passphrase-fd:N.
            """, valueName: "k"))
    var unlock: [KeyArgument] = []

    /// All that is named.
    func arguments() throws(Failure) -> [KeyArgument] {
        try unlock.map { argument throws(Failure) in try argument.ofStore("--unlock") }
    }
}

extension KeyArgument {
    /// The same argument as a device key.
    func deviceKey(_ option: String) throws(Failure) -> KeyArgument {
        let argument = given(to: option)
        switch source {
        case .named, .file, .command: return argument
        case .fileAlone: throw argument.refusal
        default: throw .usage(option, "names no key", hint: .deviceKeyWord)
        }
    }

    /// The same argument as what unlocks a store.
    func ofStore(_ option: String) throws(Failure) -> KeyArgument {
        let argument = given(to: option)
        switch source {
        case .named, .file, .command, .passphrase, .passphraseFile, .passphraseDescriptor: return argument
        case .fileAlone: throw argument.refusal
        default: throw .usage(option, "names nothing that unlocks a store", hint: .storeUnlockWord)
        }
    }
}

/// The class of an item, as it is typed and reported.
enum ClassName: String, ExpressibleByArgument, Sendable {
    case always
    case afterFirstUnlock = "after-first-unlock"
    case unlessOpen = "unless-open"
    case complete

    static var allValueStrings: [String] { [always, afterFirstUnlock, unlessOpen, complete].map(\.rawValue) }
    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }

    init(_ protection: ItemProtection) {
        self =
            switch protection {
            case .always: .always
            case .afterFirstUnlock: .afterFirstUnlock
            case .unlessOpen: .unlessOpen
            case .complete: .complete
            }
    }

    var protection: ItemProtection {
        switch self {
        case .always: .always
        case .afterFirstUnlock: .afterFirstUnlock
        case .unlessOpen: .unlessOpen
        case .complete: .complete
        }
    }
}

/// The version of an item, which list and --json show.
struct VersionArgument: ExpressibleByArgument, Sendable {
    let version: StoreItem.Version

    init?(argument: String) {
        guard let version = StoreItem.Version(argument) else { return nil }
        self.version = version
    }
}

/// The option for the version that an item must have.
struct VersionOption: ParsableArguments {
    @Option(
        name: .customLong("if"), parsing: .unconditional,
        help: ArgumentHelp("Only if the item has this version, as list -l shows it.", valueName: "version"))
    var version: VersionArgument?

    var condition: WriteCondition { version.map { .version($0.version) } ?? .any }

    /// The names of the items that are given. A version is that of one item.
    func names(_ lists: [OperandList]) throws(Failure) -> [String] {
        let operands = lists.flatMap(\.paths)
        if operands.count > 1, version != nil { throw Failure.usage("--if", "is for one item") }
        return try operands.map { operand throws(Failure) in
            try BytesArgument(bytes: operand.bytes).itemName("NAME")
        }
    }
}

extension BytesArgument {
    /// The name of an account.
    func accountName() throws(Failure) -> String {
        guard let name = String(validating: bytes, as: UTF8.self) else {
            throw .usage("--account", "is not UTF-8")
        }
        return name
    }

    /// The name of an item.
    func itemName(_ option: String) throws(Failure) -> String {
        guard let name = String(validating: bytes, as: UTF8.self) else {
            throw .usage(option, "is not UTF-8, as the names of items are")
        }
        return name
    }
}
