internal import VaultFile

extension ContainerReport {
    /// What `inspect` sees without a key.
    ///
    /// - Parameter slot: Returns the report of a slot.
    init(_ seen: Inspection, slot: (SlotDescription) -> SlotReport = { SlotReport($0) }) {
        containerLength = seen.containerLength
        streamLength = seen.streamLength
        manifestLength = seen.manifestLength
        front = CopyReport(seen.front, slot)
        tail = CopyReport(seen.tail, slot)
        copiesAreIdentical = seen.copiesAreIdentical
        problem = seen.problem?.code.name
    }

    /// The same for people.
    var lines: [String] {
        var lines = ["  visible to everyone, not authenticated:", "    container     \(containerLength) bytes"]
        if let streamLength {
            let isPacked = (front.compression ?? tail.compression ?? 0) != 0
            lines.append("    \(isPacked ? "packed data " : "plaintext   ")  \(streamLength) bytes")
        }
        if let manifestLength { lines.append("    manifest      \(manifestLength) bytes") }
        if copiesAreIdentical {
            lines.append("    headers       two identical copies")
            return lines + front.lines
        }
        lines.append("    front header  \(front.verdict(beside: tail))")
        lines += front.lines
        lines.append("    tail header   \(tail.verdict(beside: front))")
        return lines + tail.lines
    }
}

extension CopyReport {
    init(_ copy: Inspection.Copy, _ slot: (SlotDescription) -> SlotReport) {
        switch copy {
        case .intact: status = "intact"
        case .malformed(let error):
            status = "malformed"
            self.error = error.code.name
            check = error.message
        case .damaged: status = "damaged"
        }
        if let summary = copy.summary { describe(summary, slot) }
    }

    /// A header file.
    init(_ file: HeaderFile, _ slot: (SlotDescription) -> SlotReport) {
        status = "intact"
        describe(file.summary, slot)
    }

    private mutating func describe(_ summary: HeaderSummary, _ slot: (SlotDescription) -> SlotReport) {
        fileID = hexadecimal(summary.fileID)
        commitment = hexadecimal(summary.commitment)
        chunkSize = summary.chunkSize.bytes
        compression = summary.compression.rawValue
        capacity = summary.capacity.bytes
        generation = summary.generation
        slots = summary.slots.map(slot)
    }

    /// The state of the copy, in words.
    fileprivate func verdict(beside other: CopyReport) -> String {
        switch status {
        case "intact": other.status == "intact" ? "intact, but not the same as the other" : "intact"
        case "malformed": "malformed: \(check ?? "")"
        default: "damaged"
        }
    }

    /// The fields, for people.
    var lines: [String] {
        guard let fileID, let commitment, let chunkSize, let capacity, let generation, let slots else { return [] }
        var lines = ["    file ID       \(fileID)", "    commitment    \(commitment)"]
        lines.append("    chunks        \(chunkSize) bytes" + (compression == 0 ? "" : ", compressed"))
        lines.append("    capacity      \(capacity) bytes a header, generation \(generation)")
        return lines + slots.map { "    slot          \($0.line)" }
    }
}

extension SlotReport {
    /// - Parameters:
    ///   - opened: The slots that the given keys open; nil if none were given.
    ///   - name: The key's name in the keyring.
    ///   - identity: What messages call the identity that it belongs to, and its public key.
    init(
        _ slot: SlotDescription, opened: Set<SlotDescription>? = nil, name: String? = nil,
        identity: (name: String, recipient: String)? = nil
    ) {
        keyName = name
        kind = slot.kind.word
        type = slot.type
        id = "\(slot.keyID)"
        passes = slot.argon2?.passes
        memoryKiB = slot.argon2?.memoryKiB
        self.opened = opened.map { $0.contains(slot) }
        hidden = slot.isHidden ? true : nil
        self.identity = identity?.name
        recipient = identity?.recipient
    }

    /// The type of the mark of a detached header (DET-1).
    private static let markType: UInt16 = 6

    fileprivate var line: String {
        if type == Self.markType { return "none: the slots are in a header file" }
        let isOther = kind == SlotDescription.Kind.unknown.word
        var line = "\(id)  \(isOther ? "type \(type)" : kind)"
        if let keyName { line += " \(keyName)" }
        if hidden == true { line += ", hidden" }
        if let passes, let memoryKiB { line += ", \(passes) passes over \(memoryKiB) KiB" }
        if let opened { line += opened ? ", opened" : ", not opened" }
        if let identity { line += (opened == true ? " by the identity in " : ", of the identity in ") + identity }
        return line
    }
}

extension ManifestReport {
    init(_ manifest: Manifest) {
        plaintextLength = manifest.plaintextLength
        digest = manifest.digest.map(hexadecimal)
        contentType = manifest.metadata.contentType
        name = manifest.metadata.name
        if let time = manifest.metadata.modified {
            modifiedSeconds = time.seconds
            modifiedNanoseconds = time.nanoseconds
            modified = time.utc
        }
        mode = manifest.metadata.permissions.map { "0" + String($0, radix: 8) }
    }

    /// The same for people.
    func lines(health: String) -> [String] {
        var lines = ["  authenticated:", "    health        \(health)", "    plaintext     \(plaintextLength) bytes"]
        if let name { lines.append("    name          \(Escaping.line(name))") }
        if let contentType { lines.append("    content type  \(Escaping.line(contentType))") }
        if let modifiedSeconds {
            lines.append("    modified      \(modified ?? "\(modifiedSeconds) seconds from 1970 on")")
        }
        if let mode { lines.append("    mode          \(mode)") }
        if let digest { lines.append("    SHA-256       \(digest)") }
        return lines
    }
}

private func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.reduce(into: "") { $0 += ($1 < 16 ? "0" : "") + String($1, radix: 16) }
}
