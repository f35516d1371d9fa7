import SystemPackage
import VaultFile

/// The card or the keybag, as the file that keys were read from. It stays open, so no other file gets its identity.
struct KeyFile: Sendable {
    let name: FilePath
    let source: FileSource
}
