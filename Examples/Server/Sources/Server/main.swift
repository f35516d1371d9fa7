// Serves a folder of containers. The key file is kept outside that folder: a copy of the folder alone opens nothing.
//
//     vaultfile key generate -o server.key
//     swift run Server server.key vaults
//     curl -T film.mp4 http://127.0.0.1:8080/film.mp4
//     curl -r 1000000-1999999 http://127.0.0.1:8080/film.mp4
import Hummingbird
import Storage
import VaultFile

guard CommandLine.arguments.count == 3 else { fatalError("usage: Server KEYFILE FOLDER") }
let key = try SymmetricKey.read(from: FilePath(CommandLine.arguments[1]))
let storage = Storage(folder: FilePath(CommandLine.arguments[2]), key: key)
let server = Application(router: storage.router(), configuration: .init(address: .hostname("127.0.0.1", port: 8080)))
try await server.runService()
