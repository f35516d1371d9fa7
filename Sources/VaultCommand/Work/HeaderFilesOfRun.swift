internal import Synchronization
internal import VaultFile
internal import VaultSystem

/// The header files among the inputs of a run that changes keys. The keys of a detached container are changed in its header
/// file, so the container itself is passed over if the run has that file too.
final class HeaderFilesOfRun: Sendable {
    private let operands: [PathArgument]
    private let known = Mutex(Known())

    private struct Known {
        /// The commitments of the header files that were named.
        var named: Set<[UInt8]>?
        /// Those of the folder that was looked at last.
        var folder: FileIdentity?
        var inFolder: Set<[UInt8]> = []
    }

    init(_ operands: [PathArgument]) {
        self.operands = operands
    }

    /// Whether the run has a header file of this container: one that is named, or one in the folder in which a walk has found
    /// the container. None of this is authenticated: a header file of another maker is an input that fails.
    ///
    /// A container that may have slots of its own is none that is passed over: a removed key would keep its slot there.
    func has(headerFileOf item: InputItem, _ seen: Inspection) -> Bool {
        guard let commitment = seen.commitmentIfDetached else { return false }
        return known.withLock { known in
            let named = known.named ?? Self.commitments(of: operands)
            known.named = named
            guard !named.contains(commitment) else { return true }
            guard let found = item.found else { return false }
            if known.folder != found.folder.identity {
                known.inFolder = Self.commitments(in: found.folder)
                known.folder = found.folder.identity
            }
            return known.inFolder.contains(commitment)
        }
    }

    private static func commitments(of operands: [PathArgument]) -> Set<[UInt8]> {
        Set(
            operands.compactMap { operand in
                guard !operand.isDash, operand.isNamedHeaderFile else { return nil }
                return try? HeaderFile(FileSource(at: operand.path)).summary.commitment
            })
    }

    private static func commitments(in folder: OpenFolder) -> Set<[UInt8]> {
        var names: [[UInt8]] = []
        try? folder.forEachName { name, kind in
            if kind == .regular, PathArgument(bytes: name).isNamedHeaderFile { names.append(name) }
        }
        return Set(
            names.compactMap { name in
                try? withExtendedLifetime(folder) {
                    try HeaderFile(FileSource(at: folder.place(name))).summary.commitment
                }
            })
    }
}
