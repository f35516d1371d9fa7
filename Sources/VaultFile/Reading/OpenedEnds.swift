import VaultFormat
import VaultStream

/// Both ends of a container, opened (SEEK-1 to SEEK-24): what every operation that can seek begins with.
struct OpenedEnds {
    let opening: ContainerOpening
    let manifest: Manifest
    /// Where the groups stand if the stream is packed.
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
