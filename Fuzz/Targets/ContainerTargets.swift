import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

/// A container, read in pieces and by every reader. All readers accept what a stream accepts, and each container has
/// only one encoding.
enum OpenTarget: FuzzTarget {
    static let name = "open"

    static func run(_ input: [UInt8]) throws {
        guard let input = FuzzInput(input) else { return }
        let streamed = try input.streamed(piece: 1 << 20)
        // Cut into pieces anywhere.
        let cut = try input.streamed(piece: 1 + Int(input.seed % 997))
        try require(
            cut.result.matches(streamed.result) && cut.plaintext == streamed.plaintext,
            "by pieces it is \(cut.result) with \(cut.plaintext.count) bytes, else \(streamed.result) with "
                + "\(streamed.plaintext.count)")
        let whole = try read(
            input.container, by: .whole, keys: input.secrets.keys, context: input.secrets.context,
            limits: FuzzInput.limits)
        try checkAgreement(streamed, whole)
        if let opened = streamed.opened { try checkForm(input, opened, streamed.plaintext) }
    }

    /// A file is accepted if its stream is. A stream is accepted if its file is, with the exceptions after STR-34 in
    /// the Spec. Neither releases bytes that differ from the other's, as far as that one gets.
    private static func checkAgreement(_ streamed: Reading, _ whole: Reading) throws {
        let results = "a stream gives \(streamed.result), a file \(whole.result)"
        try require(whole.agrees(withStream: streamed), results)
        if let health = whole.health, let error = streamed.error {
            try require(reasons(for: health).contains(error.code), results)
        }
        try require(
            whole.plaintext.starts(with: streamed.plaintext) || streamed.plaintext.starts(with: whole.plaintext),
            "\(results), and each releases what the other does not")
    }

    /// Why a stream may refuse a container that opens as a file: it sees only the front, and no slots of the tail. What
    /// opens a slot of the tail may come before a plugin that fails. The tail can also show that a slot of the front is
    /// within the limits (SLOT-20).
    private static func reasons(for health: Health) -> [VaultError.Code] {
        switch health {
        case .intact: []
        case .tailDamaged: [.limitExceeded]
        case .rotationUnfinished, .copiesConflict: [.limitExceeded, .wrongKey, .pluginFailed]
        case .frontDamaged:
            [
                .limitExceeded, .wrongKey, .pluginFailed, .notVaultfile, .headerDamaged, .truncated, .headerForged,
            ]
        }
    }

    /// A writer makes an intact container again from its header, its stream and its manifest, byte for byte. So nothing
    /// is hidden in it, and no two containers differ only in unused bytes.
    private static func checkForm(_ input: FuzzInput, _ opened: OpenedContainer, _ plaintext: [UInt8]) throws {
        let (header, container) = (opened.header, input.container)
        guard let fileKey = input.secrets.fileKey, opened.health == .intact,
            let parts = UnsealedContainer(container, fileKey: fileKey, secrets: input.secrets)
        else { return }
        let forge = try Forge(
            fileKey: fileKey, fileID: header.fileID, chunkSize: header.chunkSize, capacity: header.capacity,
            context: input.secrets.context, compression: header.compression)
        // The slot may hold another file key.
        guard forge.schedule.commitment == header.commitment else { return }
        let stream = parts.records.dropLast().flatMap(\.text)
        if header.compression == .none { try require(stream == plaintext, "it gives what its records do not hold") }
        let count = (stream.count + header.chunkSize.bytes - 1) / header.chunkSize.bytes
        let manifest = forge.record(
            opened.manifest.encoded(commitment: header.commitment), kind: .manifest, index: UInt64(count))
        let made = forge.assemble(
            forge.records(stream), manifest, front: [UInt8](container.prefix(header.capacity.bytes)))
        try require(made == container, "it is accepted, and is not as a writer makes it")
    }

    static func mutate(_ input: [UInt8], _ random: inout SeededRandom, change: ByteChange, limit: Int) -> [UInt8] {
        ContainerMutation.mutate(input, &random, change: change, limit: limit)
    }
}

/// Any ranges of a container. They give what reading everything gives.
enum SeekTarget: FuzzTarget {
    static let name = "seek"

    static func run(_ input: [UInt8]) throws {
        guard let input = FuzzInput(input) else { return }
        let reader: SeekableVaultReader
        do {
            reader = try SeekableVaultReader(
                MemorySource(input.container), with: input.credentials)
        } catch is VaultError {
            return
        }
        var (everything, failure): ([UInt8], VaultError?) = ([], nil)
        do {
            try reader.readAll { everything.append(copying: $0) }
        } catch let error as VaultError {
            failure = error
        }
        if failure == nil {
            try require(UInt64(everything.count) == reader.length, "\(everything.count) bytes of \(reader.length)")
        }
        var damage: [Damage] = []
        try reader.verify(jobs: 1) { damage.append($0) }
        try require(
            damage.isEmpty == (failure == nil), "verify finds \(damage), reading \(String(describing: failure))")
        let isPacked = reader.opened.header.compression != .none
        for range in ranges(of: reader.length, damage.compactMap(\.plaintextRange), seed: input.seed) {
            let meetsDamage = damage.contains { $0.plaintextRange?.overlaps(range) ?? false }
            do {
                let bytes = try reader.bytes(range)
                try require(bytes.count == range.count, "a range of \(range.count) bytes gives \(bytes.count)")
                try require(!meetsDamage, "the range \(range) can be read, and verify finds \(damage)")
                // In a wrong packed stream, a range gives whatever its maker's index points to.
                if failure == nil || !isPacked, range.upperBound <= everything.count {
                    try require(
                        bytes[...] == everything[Int(range.lowerBound)..<Int(range.upperBound)],
                        "the range \(range) is not what everything has there")
                }
            } catch let error as VaultError {
                // In a packed stream, verify also finds blocks whose index item is lost, which ranges need.
                try require(
                    meetsDamage || isPacked && failure != nil,
                    "the range \(range) fails, and verify finds \(damage): \(error)")
            }
        }
        try check(past: reader)
    }

    /// Some random ranges, and those at the borders of damage.
    private static func ranges(of length: UInt64, _ damage: [Range<UInt64>], seed: UInt64) -> [Range<UInt64>] {
        var random = SeededRandom(seed: seed)
        var ranges: [Range<UInt64>] = []
        for _ in 0..<4 {
            let start = UInt64.random(in: 0...length, using: &random)
            let most = random.below(2) == 0 ? length : min(length, start + 5000)
            ranges.append(start..<UInt64.random(in: start...most, using: &random))
        }
        for bad in damage.prefix(4) where !bad.isEmpty {
            let (start, end) = (bad.lowerBound, bad.upperBound)
            ranges += [start..<start + 1, end - 1..<end]
            if start > 0 { ranges.append(start - 1 - min(start - 1, 5000)..<start) }
            if end < length { ranges.append(end..<end + 1) }
        }
        // The container may claim any length and give nothing.
        return ranges.filter { $0.count <= 1 << 22 }
    }

    private static func check(past reader: SeekableVaultReader) throws {
        do {
            _ = try reader.bytes(reader.length..<reader.length + 1)
            throw Broken("there is something behind the end")
        } catch let error as VaultError {
            try require(error.code == .rangeInvalid, "\(error)")
        }
    }

    static func mutate(_ input: [UInt8], _ random: inout SeededRandom, change: ByteChange, limit: Int) -> [UInt8] {
        ContainerMutation.mutate(input, &random, change: change, limit: limit)
    }
}

extension FuzzInput {
    func streamed(piece: Int) throws -> Reading {
        try read(
            container, by: .stream, keys: secrets.keys, context: secrets.context, limits: Self.limits, piece: piece)
    }
}
