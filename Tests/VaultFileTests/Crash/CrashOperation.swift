import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// A change of a container by a caller who has every key that ever existed.
struct CrashOperation: Sendable, CustomStringConvertible {
    let name: String
    /// The keys that open the container afterwards, for each set of keys that opened it before. In a conflict these are
    /// the sets of the front and of the tail.
    let effect: @Sendable ([Holders]) -> [Holders]
    /// The caller's secrets. One of them opens the container afterwards.
    var atHand = everyone
    /// The copy of a conflict that is kept, 0 or 1. A key that opens it and its replacement must not stop opening it.
    var kept: Int?
    private let body: @Sendable (FilePath) throws -> HeaderSummary
    /// Whether a copy was named. A crash may have torn it, so the second run names none.
    private var repeated: (@Sendable (FilePath) throws -> HeaderSummary)?

    var description: String { name }

    /// - Returns: The header as the operation reports it.
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
            return try Vault.rotate(at: path, change, with: Credentials(keys.keySet), options: options).header
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

    /// A key replaces those that were there; key 1 stays.
    static let replace = rotation("replace", add: [4], remove: [2, 3])
    /// The same with another key.
    static let replaceAgain = rotation("replace again", add: [5], remove: [2, 3, 4])
    static let add = rotation("add", add: [4])
    static let remove = rotation("remove", remove: [2, 3])
    /// Adds a key that is there already, so that only repairs need a write.
    static let nothing = rotation("nothing", add: [1])
    /// More slots than fit in a header of 512 bytes, or in a full one.
    static let grow = rotation("grow", add: [100, 101, 102, 103])
    static let changePassphrase = rotation("change a passphrase", add: [205], remove: [203, 204])
    static let repair = repair("repair", keys: everyone)

    private static func repair(
        _ name: String, keys: Holders, options: RotationOptions = RotationOptions(),
        effect: @escaping @Sendable ([Holders]) -> [Holders] = { $0 }
    ) -> CrashOperation {
        var operation = CrashOperation(
            name: name, effect: effect,
            body: { try Vault.repair(at: $0, with: Credentials(keys.keySet), options: options).header })
        operation.atHand = keys
        if let place = options.keeping {
            operation.kept = place == .front ? 0 : 1
            operation.repeated = { try Vault.repair(at: $0, with: Credentials(keys.keySet)).header }
        }
        return operation
    }

    static let reencrypt = reencrypt(for: [1, 4])

    static func reencrypt(for holders: Holders) -> CrashOperation {
        CrashOperation(
            name: "reencrypt for \(holders.sorted())", effect: { _ in [holders] }, atHand: everyone.union(holders),
            body: { path in
                var options = ReencryptionOptions()
                options.mayLoseSlots = true
                return try Vault.reencrypt(
                    at: path, for: holders.recipients, with: Credentials(everyone.union(holders).keySet),
                    options: options
                ).header
            })
    }

    // MARK: Recipients

    /// Changes of the slots of recipients of one kind: the first of `kind` goes, the next one comes. The caller has no
    /// secret of theirs, or all.
    static func recipients(_ kind: UInt8) -> [CrashOperation] {
        let pair: Holders = [kind, kind + 1]
        return [
            exchange(kind),
            rotation("exchange \(kind) by their own keys", add: [kind + 1], remove: [kind], keys: everyone.union(pair)),
            rotation("add \(kind + 1)", add: [kind + 1]), rotation("remove \(pair.sorted())", remove: pair),
            reencrypt(for: [1, kind + 1]), repair,
        ]
    }

    static func exchange(_ kind: UInt8) -> CrashOperation {
        rotation("exchange \(kind)", add: [kind + 1], remove: [kind])
    }

    /// More slots than fit in a header that has room for one more recipient at most.
    static func grow(_ kind: UInt8) -> CrashOperation {
        rotation("grow by \(kind + 1)", add: [kind + 1, 100, 101, 102])
    }

    /// With a named copy. In the scenes of conflicts the first answer is the front's, the second the tail's.
    static let keepingFront = rotation(
        "replace, keeping the front", add: [4], remove: [2], options: keeping(.front), effect: { _ in [[1, 4]] })
    static let keepingTail = rotation(
        "replace, keeping the tail", add: [4], remove: [3], options: keeping(.tail), effect: { _ in [[1, 4]] })
    static let repairKeepingFront = repair(
        "repair, keeping the front", keys: everyone, options: keeping(.front), effect: { [$0[0]] })
    static let repairKeepingTail = repair(
        "repair, keeping the tail", keys: everyone, options: keeping(.tail), effect: { [$0[1]] })

    /// By a caller who has only keys from before the last change, and so may be refused.
    static let repairWithOldKey = repair("repair with an older key", keys: [2])
    static let replaceWithOldKey = rotation("replace with an older key", add: [5], remove: [2, 3], keys: [2])
}
