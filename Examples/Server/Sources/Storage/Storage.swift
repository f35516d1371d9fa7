public import Hummingbird
import NIOCore
public import VaultFile

/// Containers in a folder, under the names that clients gave them.
///
/// Plaintext is never stored, and never held as a whole: an upload is encrypted as it comes, and the client waits where
/// the disk is slow; a range is decrypted as the client takes it, and the disk waits where the client is slow.
public struct Storage: Sendable {
    let folder: FilePath
    let key: SymmetricKey

    /// Containers in a folder, all for one key.
    public init(folder: FilePath, key: SymmetricKey) {
        self.folder = folder
        self.key = key
    }

    /// `PUT /NAME` stores, `GET /NAME` sends, with `Range` if the client asks for it.
    public func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.put(":name") { request, context in
            try await store(request, as: context.parameters.require("name"))
        }
        router.get(":name") { request, context in
            try await send(request, context.parameters.require("name"))
        }
        return router
    }

    private func store(_ request: Request, as name: String) async throws -> Response {
        let (path, options) = try place(name)
        let bytes = request.body.map { [UInt8](buffer: $0) }
        // An upload that breaks off leaves nothing behind, nor does one that another replaces.
        try await Vault.write(bytes, to: path, replacing: true, for: [.key(key)], options: options)
        return Response(status: .created)
    }

    private func send(_ request: Request, _ name: String) async throws -> Response {
        let (path, options) = try place(name)
        let reader: SeekableVaultReader
        do {
            let source = try FileSource(at: path)
            reader = try await SeekableVaultReader(source, with: .key(key, context: options.context))
        } catch let error as VaultError where error.systemError == .noSuchFileOrDirectory {
            throw HTTPError(.notFound)
        }
        return try request.answer(length: reader.length) { try reader.plaintext($0) }
    }

    /// The path of a container, which opens under its own name only.
    private func place(_ name: String) throws -> (FilePath, SealOptions) {
        guard let component = FilePath.Component(name), component.kind == .regular else {
            throw HTTPError(.badRequest)
        }
        var options = SealOptions()
        options.context = try Context(name)
        return (folder.appending(component).appending(suffix: ".vault"), options)
    }
}

extension FilePath {
    fileprivate func appending(suffix: String) -> FilePath { FilePath(string + suffix) }
}
