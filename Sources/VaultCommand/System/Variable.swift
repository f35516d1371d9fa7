/// The environment variables about keys and stores.
enum Variable {
    /// Names the key file that is used if no key is named.
    static let keyFile = "VAULTFILE_KEY_FILE"
    /// Names the keyring's file.
    static let keyring = "VAULTFILE_KEYRING"
    /// Names, as one K, what unlocks the keyring.
    static let unlock = "VAULTFILE_UNLOCK"
    /// Names the folder of the store.
    static let store = "VAULTFILE_STORE"

    /// The value of a variable; nil if it is not set or empty.
    static func value(_ name: String) -> [UInt8]? {
        guard let value = Platform.environment(name), !value.isEmpty else { return nil }
        return value
    }
}
