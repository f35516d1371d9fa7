import SystemPackage
import VaultFile

// The members have the names that the command's JSON has, wherever it has them.

extension JSON {
    static func slot(_ slot: SlotDescription) -> JSON {
        .object([
            ("kind", .text(kind(of: slot))), ("type", .number(slot.type)), ("id", .text(slot.keyID.description)),
            ("passes", slot.argon2.map { .number($0.passes) }),
            ("memoryKiB", slot.argon2.map { .number($0.memoryKiB) }),
            ("hidden", slot.isHidden ? .flag(true) : nil),
        ])
    }

    private static func kind(of slot: SlotDescription) -> String {
        switch slot.kind {
        case .symmetric: "key"
        case .passphrase, .x25519, .xWing, .stanzas: slot.kind.name
        default: "other"
        }
    }

    static func slots(_ slots: [SlotDescription]) -> JSON { .list(slots.map(JSON.slot)) }

    static func error(_ error: VaultError) -> [(name: String, value: JSON?)] {
        [
            ("error", .text(error.code.name)), ("message", .text(error.message)),
            ("offset", error.offset.map { .number($0) }), ("record", error.record.map { .number($0) }),
        ]
    }

    private static func members(of header: HeaderSummary) -> [(name: String, value: JSON?)] {
        [
            ("fileID", .hexadecimal(header.fileID)), ("commitment", .hexadecimal(header.commitment)),
            ("chunkSize", .number(header.chunkSize.bytes)), ("compression", .number(header.compression.rawValue)),
            ("capacity", .number(header.capacity.bytes)), ("generation", .number(header.generation)),
            ("slots", .slots(header.slots)),
        ]
    }

    /// A header that was authenticated, with the pin to remember.
    static func header(_ header: HeaderSummary) -> JSON {
        .object(members(of: header) + [("pin", .text(header.pin.text))])
    }

    /// A header file of which nothing is authenticated.
    static func shown(_ header: HeaderFile) -> JSON { .object(members(of: header.summary)) }

    static func copy(_ copy: Inspection.Copy) -> JSON {
        switch copy {
        case .intact(let header): .object([("status", .text("intact"))] + members(of: header))
        case .malformed(let error):
            .object([
                ("status", .text("malformed")), ("error", .text(error.code.name)), ("check", .text(error.message)),
            ])
        case .damaged: .object([("status", .text("damaged"))])
        }
    }

    static func inspection(_ found: Inspection) -> JSON {
        .object([
            ("authenticated", .flag(false)), ("containerLength", .number(found.containerLength)),
            ("streamLength", found.streamLength.map { .number($0) }),
            ("manifestLength", found.manifestLength.map { .number($0) }),
            ("front", .copy(found.front)), ("tail", .copy(found.tail)),
            ("copiesAreIdentical", .flag(found.copiesAreIdentical)),
            ("problem", found.problem.map { .text($0.code.name) }),
        ])
    }

    static func manifest(_ manifest: Manifest) -> JSON {
        let metadata = manifest.metadata
        return .object([
            ("plaintextLength", .number(manifest.plaintextLength)),
            ("digest", manifest.digest.map(JSON.hexadecimal)),
            ("contentType", metadata.contentType.map { .text($0) }), ("name", metadata.name.map { .text($0) }),
            ("modified", metadata.modified?.utc.map { .text($0) }),
            ("modifiedSeconds", metadata.modified.map { .number($0.seconds) }),
            ("modifiedNanoseconds", metadata.modified.map { .number($0.nanoseconds) }),
            ("mode", metadata.permissions.map { .text("0" + octal($0)) }),
            ("tarIndex", .flag(manifest.hasTarIndexMember)),
        ])
    }

    private static func octal(_ mode: UInt16) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 3 - digits.count)) + digits
    }

    static func opened(_ opened: OpenedContainer) -> JSON {
        .object([
            ("authenticated", .flag(true)), ("health", .text(opened.health.rawValue)),
            ("manifest", .manifest(opened.manifest)), ("header", .header(opened.header)),
            ("headerFileHeader", opened.headerFile.map(JSON.header)),
            ("unexpectedCopy", opened.unexpectedCopy.map { .object(members(of: $0)) }),
        ])
    }

    static func damage(_ damage: Damage) -> JSON {
        .object(
            error(damage.error) + [
                (
                    "range",
                    damage.plaintextRange.map { .list([.number($0.lowerBound), .number($0.upperBound)]) }
                )
            ])
    }

    private static func members(of rotation: Rotation) -> [(name: String, value: JSON?)] {
        [
            ("found", rotation.found.map { .text($0.rawValue) }), ("added", .slots(rotation.added)),
            ("removed", .slots(rotation.removed)), ("kept", .slots(rotation.kept)),
            ("newHeader", .flag(rotation.isNewHeader)), ("repaired", .flag(rotation.isRepaired)),
            ("newFile", .flag(rotation.isNewFile)), ("header", .header(rotation.header)),
        ]
    }

    static func rotation(_ rotation: Rotation) -> JSON { .object(members(of: rotation)) }

    static func detachment(_ done: Detachment) -> JSON {
        .object(
            members(of: done.rotation) + [
                ("headerFile", .text(done.headerFile.string)), ("headerPin", done.header.map { .text($0.pin.text) }),
            ])
    }

    /// There is no container whose health could be told, and no file that could be new.
    static func rotated(_ new: HeaderFile.Rotated) -> JSON {
        .object([
            ("added", .slots(new.added)), ("removed", .slots(new.removed)), ("kept", .slots(new.kept)),
            ("newHeader", .flag(new.isChanged)), ("header", .header(new.file.summary)),
        ])
    }

    static func reencryption(_ result: Reencryption) -> JSON {
        .object([
            ("old", .opened(result.old)), ("lost", .slots(result.lost)), ("header", .header(result.header)),
            ("headerFile", result.headerFilePath.map { .text($0.string) }),
            ("headerFileHeader", result.headerFile.map(JSON.header)),
            ("headerPin", result.headerFile.map { .text($0.pin.text) }),
        ])
    }

    static func entry(_ entry: KeyringEntry) -> JSON {
        .object([
            ("name", .text(entry.name.description)), ("state", .text(entry.state.name)),
            ("id", entry.id.map { .text($0.description) }), ("created", entry.created.utc.map { .text($0) }),
            ("createdSeconds", .number(entry.created.seconds)),
            ("recipient", entry.recipientText.map { .text($0) }),
            (
                "members",
                entry.state == .group ? .list(entry.members.map { .text($0.description) }) : nil
            ),
        ])
    }

    /// What is left of the files that a change of a keyring has replaced.
    static func traces(_ traces: Keyring.Traces) -> JSON {
        let (exchange, error): (String, VaultError?) =
            switch traces.exchange {
            case .notNeeded: ("notNeeded", nil)
            case .done: ("done", nil)
            case .othersUnlockIt: ("othersUnlockIt", nil)
            case .failed(let error): ("failed", error)
            }
        return .object([
            ("keyring", erasure(traces.keyring)), ("unlockKey", erasure(traces.unlockKey)),
            ("exchange", .text(exchange)), ("exchangeError", error.map { .text($0.code.name) }),
            ("reason", traces.reason.map { .text($0.name) }),
        ])
    }

    private static func erasure(_ erasure: Keyring.Erasure) -> JSON {
        switch erasure {
        case .notNeeded: .text("notNeeded")
        case .overwritten: .text("overwritten")
        case .linkedElsewhere: .text("linkedElsewhere")
        case .failed: .text("failed")
        }
    }
}
