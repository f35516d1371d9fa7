import SystemPackage
import VaultCrypto
import VaultFormat
import VaultStream

/// Repair of a container that does not open because footer, zeros or tail are damaged (REP-4 to REP-7).
extension HeaderUpdate {
    func repairEnd(
        of file: borrowing LockedFile, _ source: FileSource, _ trials: inout SlotTrials, after error: VaultError
    ) throws -> Rotation {
        guard error.mayBeOfTheEnd, let end = try verifiedEnd(of: file, source, &trials) else { throw error }
        let opening = try ContainerOpening(
            end.ends(reading: source, headerFile: trials.headerFile), trials: &trials)
        // All checks come before anything is written.
        let decision = try decide(opening, &trials)
        let padding = end.layout.paddingCount(manifestLength: end.manifestLength)
        let hasZeros = try source.bytes(at: end.manifestEnd, count: padding) == [UInt8](repeating: 0, count: padding)
        // Excess bytes are cut off, or are not copied.
        let size = try source.size()
        if size > opening.footer.containerLength { try options.onExcess(size - opening.footer.containerLength) }
        guard end.front.capacity >= .separate, hasZeros else {
            // mutant: the new file checks this too, when it takes the place; this check comes before it is made
            try file.refuseLinks(unless: options.mayBreakLinks)
            try decision.container.replace(file, source: source, options: options)
            return decision.outcome(found: nil, isNewFile: true)
        }
        // mutant: the update below writes the missing copy too
        if opening.tail == nil { try file.write(end.front.bytes, at: end.tailOffset) }
        let footerOffset = end.tailOffset + UInt64(end.front.capacity.bytes)
        // mutant: it would write the same bytes again
        if try source.bytes(at: footerOffset, count: Footer.count) != opening.footer.bytes {
            try file.write(opening.footer.bytes, at: footerOffset)
        }
        try file.truncate(to: opening.footer.containerLength)
        try file.synchronizeAll()
        let mended = try SeekableOpening(source, trials: &trials, limits: credentials.limits).opening
        var again = self
        // The caller was already called for the difference.
        again.options.onDifference = { _ in }
        return try again.update(file, source, again.decide(mended, &trials), found: nil)
    }

    /// A container that was read and verified up to its manifest.
    private struct VerifiedEnd {
        let front: HeaderCopy
        let layout: ContainerLayout
        let manifestLength: Int

        var manifestEnd: UInt64 { layout.manifestEnd(manifestLength: manifestLength) }
        var tailOffset: UInt64 { layout.tailOffset(manifestLength: manifestLength) }

        /// The container's ends as they should be. A tail copy in its place is kept: it may hold the only slot for a
        /// new key (REP-5).
        func ends(reading source: FileSource, headerFile: HeaderFileSource?) throws -> ContainerEnds {
            // Like every copy, it is as long as its own capacity field says. A copy with another capacity than the
            // front's belongs to another container.
            let tail = try ContainerEnds.copy(at: tailOffset, of: source, size: source.size())
            return try ContainerEnds(
                fileSize: layout.containerLength(manifestLength: manifestLength), front: front.bytes,
                footer: layout.footer(manifestLength: manifestLength).bytes, tail: tail,
                headerFile: headerFile?.read())
        }
    }

    private func verifiedEnd(
        of file: borrowing LockedFile, _ source: FileSource, _ trials: inout SlotTrials
    ) throws -> VerifiedEnd? {
        let front = try ContainerEnds(reading: source).front
        // mutant: the reader refuses it too; this check comes before a passphrase is stretched for it
        guard KeySchedule.isIntact(front), let copy = try? HeaderCopy(parsing: front) else { return nil }
        do {
            // Tried here, so that the reader below does not stretch a passphrase again.
            _ = try trials.open([copy], with: trials.headerFile.map { try HeaderFile($0.read()) })
        } catch let error as VaultError where error.isOfBytes {
            return nil
        }
        // What follows the manifest is damaged, and is not read.
        let input = PipelineInput(file.descriptor)
        try input.seek(to: 0)  // mutant: so far, nothing has moved the offset
        do {
            let records = try StreamedRecords(input, StreamOpening(trials: trials), limits: credentials.limits)
            let geometry = try records.decryptAll(to: PipelineOutput(nil), jobs: .one) { count in
                try CallerError.marking { try options.onProgress(count) }
            }
            guard let (layout, manifestLength) = geometry else { return nil }
            return VerifiedEnd(front: copy, layout: layout, manifestLength: manifestLength)
        } catch let caller as CallerError {
            throw caller.error
        } catch let error as VaultError where error.isOfBytes {
            return nil
        }
    }
}

extension VaultError {
    /// Whether the container and what the caller gave always lead to it (REP-4). In the other cases the medium or the
    /// memory failed, or the call was cancelled.
    fileprivate var isOfBytes: Bool {
        ![.inputFailed, .cancelled, .memoryUnavailable].contains(code)
    }

    /// Whether a container may still be readable from its front, although it does not open by both ends (REP-4).
    fileprivate var mayBeOfTheEnd: Bool {
        switch code {
        case .copiesDisagree, .unexpectedState, .headerMalformed, .unsupportedVersion, .unsupportedSuite,
            .unsupportedCompression, .unsupportedFlags, .unsupportedMember:
            false
        default: true
        }
    }
}
