internal import SystemPackage
internal import VaultFile
internal import VaultSystem

extension PathArgument {
    /// Whether an operand behind a container is an input of its own: a container, or what is no file. If it is not, it
    /// can only mean a member of that container.
    ///
    /// A file on the disk that is no container does not count, nor a folder without containers: it is often the one that
    /// the container was made of.
    ///
    /// - Parameter takesFolders: Whether folders with containers are inputs, too.
    func isInput(takingFolders takesFolders: Bool) -> Bool {
        guard !isDash else { return true }
        guard let stat = try? path.stat() else { return false }
        switch stat.type {
        case .directory: return takesFolders && hasContainers
        case .regular:
            guard !Self.isNamedAsContainer(lastComponent) else { return true }
            guard let input = try? Input(self) else { return false }
            defer { input.close() }
            return (try? input.beginsWithMagic) == true || (try? input.endsWithMagic) == true
        default: return true
        }
    }

    /// Whether a container is in the folder, by the names.
    private var hasContainers: Bool {
        var isAny = false
        do {
            try OpenFolder(at: path).forEachName { name, kind in
                if kind != .folder, Self.isNamedAsContainer(name) { isAny = true }
            }
        } catch {
            // The verb says why it cannot be read.
            return true
        }
        return isAny
    }

    static func isNamedAsContainer(_ name: [UInt8]) -> Bool {
        name.suffix(OutputRules.suffix.count) == OutputRules.suffix[...]
    }

    /// Whether its name is one that `encrypt` gives to the container of a folder.
    var isNamedAsFolder: Bool {
        let suffix = OutputRules.tarSuffix + OutputRules.suffix
        return lastComponent.suffix(suffix.count) == suffix[...]
    }
}
