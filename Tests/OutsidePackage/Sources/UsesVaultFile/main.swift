import VaultFile

// Uses every public type and function of the library, as a program does that knows nothing else of it.
let folder = FilePath("/tmp/vaultfile-outside-\(UInt64.random(in: .min ... .max))")
try makeFolder(folder)
precondition(OutputFile.temporaryPrefix.hasPrefix("."))
do {
    try values()
    try secrets()
    try streams()
    try files(in: folder)
    try sources(in: folder)
    try keyChanges(in: folder)
    try keyrings(in: folder)
    try publicKeys(in: folder)
    try plugins(in: folder)
    try detachedHeaders(in: folder)
    try recovery(in: folder)
    try tarStreams(in: folder)
    try await asynchronous(in: folder)
} catch {
    print("the package outside failed: \(error)")
    try removeFolder(folder)
    exitWithFailure()
}
try removeFolder(folder)
// A program calls these when a signal ends it: plugins that run end, and files that were begun go.
AgePlugins.endAll()
UnfinishedFiles.removeAll(within: .seconds(1))
print("the package outside uses the whole API")
