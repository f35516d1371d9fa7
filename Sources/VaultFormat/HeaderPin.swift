/// A state of a container's header that a program remembers, to refuse older ones (Spec, ARG-6).
///
/// An attacker who can write to a container can put back a header that it once had, with slots of keys that were removed
/// since. Such a header is valid. If the container is then rotated, the old slots are in the newest header, and its
/// generation is one that the container had before. So neither the commitment nor the generation identifies a state; the
/// MAC does.
///
/// Remember ``HeaderSummary/pin`` of an opened container or of the result of a change, in a place that the attacker
/// cannot write to, and require it in ``Credentials``. A pin holds nothing secret.
public struct HeaderPin: Hashable, Sendable {
    /// The commitment of the container, 32 bytes.
    public let commitment: [UInt8]
    /// The generation of the header.
    public let generation: UInt32
    /// The MAC of the header, 32 bytes (KEY-6).
    public let mac: [UInt8]

    init(_ copy: HeaderCopy) {
        commitment = copy.preamble.commitment
        generation = copy.generation
        mac = [UInt8](copy.bytes.dropLast(HeaderCopy.checksumCount).suffix(HeaderCopy.macCount))
    }
}

extension HeaderPin {
    /// The length of `bytes`.
    package static let byteCount = 4 + 32 + HeaderCopy.macCount

    /// Generation, commitment and MAC.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: generation)
        return bytes + commitment + mac
    }

    /// Nil unless there are `byteCount` bytes, and the generation is one that a header can have.
    package init?(bytes: [UInt8]) {
        var reader = ByteReader(bytes[...])
        guard let generation: UInt32 = reader.integer(), generation > 0, let commitment = reader.take(32),
            let mac = reader.take(HeaderCopy.macCount), reader.remaining == 0
        else { return nil }
        self.generation = generation
        self.commitment = [UInt8](commitment)
        self.mac = [UInt8](mac)
    }

    /// Whether a valid copy is of this state, or of a later one of the same container.
    package func isMet(by copy: HeaderCopy) -> Bool {
        let other = HeaderPin(copy)
        return other.commitment == commitment
            && (other.generation > generation || other.generation == generation && other.mac == mac)
    }

    /// The error for a valid copy that does not meet this pin.
    package func mismatch(_ copy: HeaderCopy) -> VaultError {
        if copy.preamble.commitment != commitment {
            return VaultError(.unexpectedState, "it is another container than the expected one")
        }
        if copy.generation < generation {
            return VaultError(
                .unexpectedState,
                "its header has generation \(copy.generation), which is older than the expected \(generation)")
        }
        return VaultError(
            .unexpectedState, "its header has the expected generation \(generation), and is not the expected header")
    }
}

extension HeaderPin? {
    /// Whether a valid copy is of a state that the caller accepts: any if they require none.
    package func isMet(by copy: HeaderCopy) -> Bool { self?.isMet(by: copy) ?? true }
}
