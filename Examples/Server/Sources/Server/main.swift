// Serves a folder of containers.
//
//     swift run Server /srv/vaults
//     curl -T film.mp4 http://127.0.0.1:8080/film.mp4
//     curl -r 1000000-1999999 http://127.0.0.1:8080/film.mp4
import Hummingbird
import Storage
import VaultFile

guard CommandLine.arguments.count == 2 else { fatalError("usage: Server FOLDER") }
let folder = FilePath(CommandLine.arguments[1])
let key = try SymmetricKey.read(from: folder.appending("vaultfile.key"))
let storage = Storage(folder: folder, key: key)
let server = Application(router: storage.router(), configuration: .init(address: .hostname("127.0.0.1", port: 8080)))
try await server.runService()
