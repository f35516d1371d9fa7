/// An error of a store: why it refuses what was asked. What is wrong with the bytes of a container is a `VaultError`.
///
/// **Equality.** Two errors are equal if their codes and classes are.
public struct StoreError: Error, Sendable, Hashable {
    /// What failed. The set is open: a later version of the library can add codes, so a `switch` needs a `default`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the error.
        public let name: String

        private init(_ name: String) {
            self.name = name
        }

        /// The same as ``name``.
        public var description: String { name }

        /// The class of the item is not available in the present state. ``StoreError/protection`` says which class.
        public static let locked = Code("locked")
        /// The store was wiped, or a wipe has begun. Call ``VaultStore/wipe(at:onUnreadable:)`` to finish it.
        public static let gone = Code("gone")
        /// There is no item of this name.
        public static let noSuchItem = Code("noSuchItem")
        /// There is an item of this name already: the caller wanted none, or its class is not the one that they named.
        public static let itemExists = Code("itemExists")
        /// The item is not the version that the caller wanted to replace, or it has changed meanwhile.
        public static let itemChanged = Code("itemChanged")
        /// Card and keybag do not belong together, or an item is under a name that is not its own.
        public static let storeForged = Code("storeForged")
        /// Another program has changed the keys of the store since they were read. Unlock the store again; if that does
        /// not help, or if its device key is concerned, open it again.
        public static let keysChanged = Code("keysChanged")
        /// The card, the keybag or the folder breaks a rule of its form.
        public static let storeMalformed = Code("storeMalformed")
        /// There is a store, or something else, where one was to be made.
        public static let storeExists = Code("storeExists")
        /// The store has nothing that a person unlocks, so it has only the class `always`.
        public static let noKeybag = Code("noKeybag")
        /// The store has no public key for the class `unlessOpen`, as those made by older programs:
        /// ``VaultStore/addUnlessOpen(at:device:unlocking:)`` adds it.
        public static let noPublicKey = Code("noPublicKey")
        /// The name of an item is not 1 to 255 bytes, or has an empty component, `.` or `..`.
        public static let invalidName = Code("invalidName")
        /// There is no account of this name in the group.
        public static let noSuchAccount = Code("noSuchAccount")
        /// A new item, or one whose class cannot be read, needs a class from the caller.
        public static let protectionNeeded = Code("protectionNeeded")
    }

    /// What failed.
    public let code: Code
    /// The class that is not available, for ``Code/locked``.
    public let protection: ItemProtection?
    /// What is wrong, for people and logs. It holds no name of an item, no key and no byte of an item.
    public let message: String

    init(_ code: Code, _ message: String, protection: ItemProtection? = nil) {
        self.code = code
        self.message = message
        self.protection = protection
    }

    /// Compares codes and classes.
    public static func == (one: StoreError, other: StoreError) -> Bool {
        one.code == other.code && one.protection == other.protection
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(protection)
    }

    static func locked(_ protection: ItemProtection) -> StoreError {
        StoreError(.locked, "the class \(protection.rawValue) is locked", protection: protection)
    }

    static let gone = StoreError(.gone, "this store was wiped")
    static let keysChanged = StoreError(.keysChanged, "the keys of the store have changed; open and unlock it again")
    static let noKeybag = StoreError(.noKeybag, "nothing unlocks this store: it has only the class always")
    static let noPublicKey = StoreError(.noPublicKey, "the store has no public key for the class unlessOpen")
    static let noSuchAccount = StoreError(.noSuchAccount, "there is no account of this name")
    static let noSuchItem = StoreError(.noSuchItem, "there is no item of this name")

    static func malformed(_ what: String) -> StoreError {
        StoreError(.storeMalformed, what)
    }
}
