import VaultFile
import VaultFormat
import VaultTestSupport

@testable import VaultCommand

/// What a container shows without a key, and which of its slots the given keys open. It must agree with a reader, and
/// its lines must be safe for a terminal.
enum InspectTarget: FuzzTarget {
    static let name = "inspect"

    static func run(_ input: [UInt8]) throws {
        guard let input = FuzzInput(input) else { return }
        let opening = try Self.opening(input, input.secrets.keys)
        let seen: Inspection
        do {
            seen = try Inspection(MemorySource(input.container))
        } catch let error as VaultError {
            return try require(
                opening.error?.description == error.description,
                "there is nothing to see: \(error); a reader: \(opening)")
        }
        try check(ContainerReport(seen).lines)
        if let problem = seen.problem {
            // All faults that come before the first try of a key, in a reader's order.
            try require(
                opening.error?.description == problem.description,
                "the problem is \(problem), a reader's \(opening)")
            try require(seen.streamLength == nil && seen.manifestLength == nil, "lengths out of what is broken")
        }
        if case .success(let opened) = opening {
            try check(seen, opened, input)
            try check(ManifestReport(opened.manifest).lines(health: opened.health.rawValue))
        }
        try checkSlots(seen, input)
    }

    private static func check(_ seen: Inspection, _ opened: OpenedContainer, _ input: FuzzInput) throws {
        try require(
            seen.problem == nil && seen.containerLength == UInt64(input.container.count)
                && seen.streamLength == opened.manifest.streamLength
                && seen.manifestLength == opened.manifest.encoded(commitment: opened.header.commitment).count,
            "a reader opens it, and to be seen is \(seen)")
        try require(
            seen.copiesAreIdentical == (opened.health == .intact)
                && [seen.front.summary, seen.tail.summary].contains(opened.header),
            "its health is \(opened.health), and to be seen is \(seen)")
    }

    // MARK: Slots

    private static func checkSlots(_ seen: Inspection, _ input: FuzzInput) throws {
        let secrets = input.secrets
        guard let slots = try outcomes(seen, input, secrets.keys) else {
            return try require(seen.front.summary == nil && seen.tail.summary == nil, "a copy has no slots")
        }
        var isOpenedByOne = slots.map { _ in false }
        for (index, single) in secrets.singles.enumerated() {
            let alone = try outcomes(seen, input, single) ?? []
            // Only the first key opens private slots.
            for (place, outcome) in alone.enumerated() where index == 0 || !slots[place].slot.isPrivate {
                if outcome.outcome == .opened { isOpenedByOne[place] = true }
            }
            // Two equal copies have no other slots.
            guard seen.problem == nil, seen.copiesAreIdentical else { continue }
            let error = try opening(input, single).error
            let isShut =
                error?.code == .wrongKey || error?.code == .pluginFailed
                || error?.code == .limitExceeded && !FuzzInput.isOfLength(error)
            try require(
                alone.contains { $0.outcome == .opened } != isShut,
                "of the slots comes \(alone.map(\.outcome)), and a reader says \(String(describing: error))")
        }
        for (place, tried) in slots.enumerated() {
            let (slot, outcome) = (tried.slot, tried.outcome)
            // One identity alone has fewer slots to try, so it may open one that is beyond the limits for several.
            if outcome == .notTried, slots.count > leastLimit { continue }
            try require((outcome == .opened) == isOpenedByOne[place], "slot \(place) is \(outcome), and of none alone")
            // A key is tried exactly on slots with its ID.
            guard slot.kind == .symmetric else { continue }
            let hasKey = secrets.symmetric.contains { $0.id == slot.keyID }
            try require((outcome != .notTried) == hasKey, "slot \(place) is \(outcome)")
        }
    }

    /// The least number of slots of one kind that a limit allows.
    private static let leastLimit = min(FuzzInput.limits.maximumStanzaSlots, FuzzInput.limits.maximumPublicKeySlots)

    /// Nil if no copy can be read.
    private static func outcomes(
        _ seen: Inspection, _ input: FuzzInput, _ keys: FuzzKeys
    ) throws -> [Inspection.TriedSlot]? {
        do {
            return try seen.trySlots(with: input.credentials(keys))
        } catch let error as VaultError {
            try require(error.code == .headerDamaged, "\(error)")
            return nil
        }
    }

    private static func opening(
        _ input: FuzzInput, _ keys: FuzzKeys
    ) throws -> Result<OpenedContainer, VaultError> {
        do {
            let reader = try SeekableVaultReader(
                MemorySource(input.container), with: input.credentials(keys))
            return .success(reader.opened)
        } catch let error as VaultError {
            return .failure(error)
        }
    }

    // MARK: Lines

    /// No character of a line moves the cursor, ends the line, changes its direction or is invisible.
    private static func check(_ lines: [String]) throws {
        for line in lines {
            try require(line.unicodeScalars.allSatisfy(Printing.isSeen), "a line is \(Array(line.utf8))")
        }
    }

    static func mutate(_ input: [UInt8], _ random: inout SeededRandom, change: ByteChange, limit: Int) -> [UInt8] {
        ContainerMutation.mutate(input, &random, change: change, limit: limit)
    }
}

extension SlotDescription {
    fileprivate var isPrivate: Bool { kind == .privateType }
}

extension Result where Success == OpenedContainer, Failure == VaultError {
    fileprivate var error: VaultError? {
        if case .failure(let error) = self { error } else { nil }
    }
}

/// The form in which a terminal may show foreign text.
enum Printing {
    private static let unseen: [ClosedRange<UInt32>] = [
        0...0x1F, 0x7F...0x9F, 0xAD...0xAD, 0x61C...0x61C, 0x180E...0x180E, 0x200B...0x200F, 0x2028...0x202E,
        0x2060...0x206F, 0xFE00...0xFE0F, 0xFEFF...0xFEFF, 0xFFF9...0xFFFB, 0xE0000...0xE0FFF,
    ]

    /// Decides by code points alone, so that it does not use the command's own table of properties.
    static func isSeen(_ scalar: Unicode.Scalar) -> Bool {
        !unseen.contains { $0.contains(scalar.value) }
    }

    /// The bytes from which an escaped line was made.
    static func unescaped(_ line: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = line.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "\\" else {
                bytes += [UInt8](String(scalar).utf8)
                continue
            }
            switch rest.popFirst() {
            case "\\": bytes.append(UInt8(ascii: "\\"))
            case "n": bytes.append(UInt8(ascii: "\n"))
            case "t": bytes.append(UInt8(ascii: "\t"))
            case "x":
                guard let byte = UInt8(String(String.UnicodeScalarView(rest.prefix(2))), radix: 16) else { return nil }
                bytes.append(byte)
                rest = rest.dropFirst(2)
            case "u":
                guard rest.popFirst() == "{", let end = rest.firstIndex(of: "}"),
                    let value = UInt32(String(String.UnicodeScalarView(rest[..<end])), radix: 16),
                    let named = Unicode.Scalar(value)
                else { return nil }
                bytes += [UInt8](String(named).utf8)
                rest = rest[rest.index(after: end)...]
            default: return nil
            }
        }
        return bytes
    }
}
