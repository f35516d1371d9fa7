import VaultStore

// Uses every public type and function of the library, as a program does that knows nothing else of it.
let folder = FilePath("/tmp/vaultfile-outside-\(UInt64.random(in: .min ... .max))")
try makeFolder(folder)
do {
    try values()
    try items(in: folder)
    try conditions(in: folder)
    try written(in: folder)
    try keys(in: folder)
    try kept(in: folder)
    try await groups(in: folder)
    try await events(in: folder)
    try await tasks(in: folder)
} catch {
    print("the package outside failed: \(error)")
    try removeFolder(folder)
    exitWithFailure()
}
try removeFolder(folder)
print("the package outside uses the whole API of stores")
