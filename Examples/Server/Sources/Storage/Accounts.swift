public import Hummingbird
import NIOCore
public import VaultStore

/// The uploads of many accounts: a group with a store for each account.
///
/// The server works without a person, so its items have the class `always`. The erasure of an account destroys its key.
/// A copy of the account's store then opens only with a copy of the key. This example does not check who the client is.
/// Your server does that before it calls the group.
public struct Accounts: Sendable {
    let group: StoreGroup

    /// The accounts of one group.
    public init(_ group: StoreGroup) {
        self.group = group
    }

    /// `PUT /ACCOUNT` makes an account and `DELETE /ACCOUNT` erases it. `GET /ACCOUNT` lists its uploads. `PUT` and `GET`
    /// of `/ACCOUNT/NAME` store and send one, with `Range` if the client asks for it; `DELETE` removes it.
    public func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.put(":account") { _, context in
            let account = try context.parameters.require("account")
            try await answering { _ = try await group.perform { try $0.createStore(of: account) } }
            return Response(status: .created)
        }
        router.delete(":account") { _, context in
            let account = try context.parameters.require("account")
            try await answering { _ = try await group.perform { try $0.erase(account) } }
            return Response(status: .noContent)
        }
        router.get(":account") { _, context in
            let items = try await answering {
                try await store(context).perform { try $0.list().items }
            }
            return items.map { "\($0.name)\n" }.joined()
        }
        router.put(":account/:name") { request, context in
            let name = try context.parameters.require("name")
            try await answering {
                // An upload that breaks off leaves nothing behind, nor does one into an account that is erased meanwhile.
                let bytes = request.body.map { [UInt8](buffer: $0) }
                try await store(context).write(name, from: bytes, protection: .always)
            }
            return Response(status: .created)
        }
        router.get(":account/:name") { request, context in
            let name = try context.parameters.require("name")
            return try await answering {
                let item = try await store(context).openItem(name)
                return try request.answer(length: item.item.length) { try item.pieces($0) }
            }
        }
        router.delete(":account/:name") { _, context in
            let name = try context.parameters.require("name")
            try await answering { try await store(context).perform { try $0.remove(name) } }
            return Response(status: .noContent)
        }
        return router
    }

    private func store(_ context: BasicRequestContext) async throws -> VaultStore {
        let account = try context.parameters.require("account")
        return try await group.perform { try $0.openStore(of: account) }
    }

    /// Gives the client a status for what it asked wrongly. Every other error stays one of the server.
    private func answering<R>(_ body: () async throws -> R) async throws -> R {
        do {
            return try await body()
        } catch let error as StoreError {
            switch error.code {
            case .noSuchAccount, .noSuchItem, .gone: throw HTTPError(.notFound)
            case .storeExists, .itemChanged: throw HTTPError(.conflict)
            case .invalidName: throw HTTPError(.badRequest)
            default: throw error
            }
        }
    }
}
