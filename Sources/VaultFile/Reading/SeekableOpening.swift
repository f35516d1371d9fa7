import VaultFormat
import VaultStream

/// A container that was opened by both its ends (SEEK-1 to SEEK-24). Every operation that can seek begins with it.
struct SeekableOpening {
    let opening: ContainerOpening
    let manifest: Manifest
    /// The places of the groups; nil if the stream is not packed.
    let packing: PackedLayout?

    /// - Throws: `VaultError` with the first check that failed; what the source or the key provider throws.
    init(_ source: any ByteSource, trials: inout SlotTrials, limits: OpenLimits) throws {
        opening = try ContainerEnds.judge(source, isFinal: { $0.health == .intact }) { ends in
            try ContainerOpening(ends, trials: &trials)
        }
        let end = try source.bytes(at: opening.layout.manifestOffset, count: opening.endCount)
        (manifest, packing) = try opening.manifest(end: end, limits: limits)
    }
}
