package import VaultFormat
package import VaultStream

/// A container that was opened by both its ends (SEEK-1 to SEEK-24). Every operation that can seek begins with it.
package struct SeekableOpening {
    package let opening: ContainerOpening
    package let manifest: Manifest
    /// The places of the groups; nil if the stream is not packed.
    package let packing: PackedLayout?

    package init(_ opening: ContainerOpening, _ manifest: Manifest, _ packing: PackedLayout?) {
        (self.opening, self.manifest, self.packing) = (opening, manifest, packing)
    }

    /// - Throws: `VaultError` with the first check that failed; what the source or the key provider throws.
    package init(_ source: any ByteSource, trials: inout SlotTrials, limits: OpenLimits) throws {
        opening = try ContainerEnds.judge(
            source, headerFile: trials.headerFile, isFinal: { $0.health == .intact }
        ) { ends in
            try ContainerOpening(ends, trials: &trials)
        }
        let end = try source.bytes(at: opening.layout.manifestOffset, count: opening.endCount)
        (manifest, packing) = try opening.manifest(end: end, limits: limits)
    }
}
