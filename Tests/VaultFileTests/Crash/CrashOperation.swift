import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// What somebody does to a container who has every key that there ever was.
struct CrashOperation: Sendable, CustomStringConvertible {
    let name: String
    /// Who can open the container afterwards, for each answer to the question who could before. In a conflict these are
    /// the front's and the tail's.
    let effect: @Sendable ([Holders]) -> [Holders]
    /// The secrets of whoever does it: one of them opens the container afterwards.
    var atHand = everyone
    /// Of the two copies of a conflict, that which is kept, 0 or 1: it must not be lost to anybody who can open it and
    /// what comes in its place.
    var kept: Int?
    private let body: @Sendable (FilePath) throws -> HeaderSummary
    /// Whether a copy was named, which a crash may have torn: then it is done again without naming one.
    private var repeated: (@Sendable (FilePath) throws -> HeaderSummary)?

    var description: String { name }

    /// - Returns: the header that the operation says there is now.
    @discardableResult
    func run(_ path: FilePath) throws -> HeaderSummary {
        do {
            return try body(path)
        } catch let error as VaultError where error.code == .headerDamaged {
            guard let repeated else { throw error }
            return try repeated(path)
        }
    }

    // MARK: The operations

    private static let everyone: Holders = [1, 2, 3, 4, 5]

    private static func rotation(
        _ name: String, add: Holders = [], remove: Holders = [], options: RotationOptions = RotationOptions(),
        keys: Holders = everyone, effect: (@Sendable ([Holders]) -> [Holders])? = nil
    ) -> CrashOperation {
        let run: @Sendable (FilePath, RotationOptions) throws -> HeaderSummary = { path, options in
            let change = KeyChange(adding: add.recipients, removing: remove.selection)
            return try Vault.rotate(at: path, change, keys: keys.keySet, options: options).header
        }
        var operation = CrashOperation(
            name: name, effect: effect ?? { $0.map { $0.subtracting(remove).union(add) } },
            body: { try run($0, options) })
        operation.atHand = keys.union(add)
        if let place = options.keeping {
            operation.kept = place == .front ? 0 : 1
            operation.repeated = { try run($0, RotationOptions()) }
        }
        return operation
    }

    private static func keeping(_ place: HeaderPlace) -> RotationOptions {
        var options = RotationOptions()
        options.keeping = place
        return options
    }

    /// A key takes the place of those that were there; key 1 stays.
    static let replace = rotation("replace", add: [4], remove: [2, 3])
    /// The same to another key.
    static let replaceAgain = rotation("replace again", add: [5], remove: [2, 3, 4])
    static let add = rotation("add", add: [4])
    static let remove = rotation("remove", remove: [2, 3])
    /// What is there already is added, so that there is nothing to write but what repairs.
    static let nothing = rotation("nothing", add: [1])
    /// More slots than a header of 512 bytes, or a full one, has room for.
    static let grow = rotation("grow", add: [100, 101, 102, 103])
    static let changePassphrase = rotation("change a passphrase", add: [205], remove: [203, 204])
    static let repair = repair("repair", keys: everyone)

    private static func repair(
        _ name: String, keys: Holders, options: RotationOptions = RotationOptions(),
        effect: @escaping @Sendable ([Holders]) -> [Holders] = { $0 }
    ) -> CrashOperation {
        var operation = CrashOperation(
            name: name, effect: effect, body: { try Vault.repair(at: $0, keys: keys.keySet, options: options).header })
        operation.atHand = keys
        if let place = options.keeping {
            operation.kept = place == .front ? 0 : 1
            operation.repeated = { try Vault.repair(at: $0, keys: keys.keySet).header }
        }
        return operation
    }

    static let reencrypt = CrashOperation(
        name: "reencrypt", effect: { _ in [[1, 4]] },
        body: { path in
            var options = ReencryptionOptions()
            options.mayLoseSlots = true
            return try Vault.reencrypt(
                at: path, for: [.key(Holders.key(1)), .key(Holders.key(4))], keys: everyone.keySet, options: options
            ).header
        })

    /// With a copy that is named; in the scenes of conflicts the first answer is the front's, the second the tail's.
    static let keepingFront = rotation(
        "replace, keeping the front", add: [4], remove: [2], options: keeping(.front), effect: { _ in [[1, 4]] })
    static let keepingTail = rotation(
        "replace, keeping the tail", add: [4], remove: [3], options: keeping(.tail), effect: { _ in [[1, 4]] })
    static let repairKeepingFront = repair(
        "repair, keeping the front", keys: everyone, options: keeping(.front), effect: { [$0[0]] })
    static let repairKeepingTail = repair(
        "repair, keeping the tail", keys: everyone, options: keeping(.tail), effect: { [$0[1]] })

    /// By somebody who has only keys that were there before the last change: he may be refused.
    static let repairWithOldKey = repair("repair with an older key", keys: [2])
    static let replaceWithOldKey = rotation("replace with an older key", add: [5], remove: [2, 3], keys: [2])
}
