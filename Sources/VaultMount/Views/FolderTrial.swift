extension FolderView {
    /// What a few containers say about the keys.
    public struct Trial: Equatable, Sendable {
        /// Whether one opens.
        public var opens = false
        /// How many before it no key opens.
        public var refused = 0
        /// How many before it do not open for another reason, so that they say nothing about the keys: they are damaged,
        /// cannot be read, or need more memory than there is.
        public var failed = 0
        /// How many folders could not be read to their end.
        public var unreadFolders = 0
        /// Whether containers may follow that were not tried.
        public var isCut = false

        /// Whether there is no container.
        public var isEmpty: Bool { self == Trial() }

        /// A result that nothing was found.
        public init() {}
    }

    /// Tries the first containers of the folder and of those below it, until one opens.
    ///
    /// - Parameters:
    ///   - limit: how many are tried at most that no key opens. Each may cost the stretching of a passphrase.
    ///   - mostNames: how many names of a folder are looked at, and about how many folders.
    ///   - onFailure: gets the path of each container below the folder that does not open for another reason, and why.
    public func trial(
        atMost limit: Int, mostNames: Int = 1000, onFailure: (_ path: [UInt8], any Error) -> Void = { _, _ in }
    ) -> Trial {
        var trial = Trial()
        // A container that is damaged costs little.
        var isEnough: Bool { trial.refused >= limit || trial.refused + trial.failed >= 8 * limit }
        var folders: [(id: NodeID, path: [UInt8])] = [(rootNode, [])]
        defer { for folder in folders.dropFirst() { forget(folder.id, count: 1) } }
        var next = 0
        while next < folders.count {
            // A very large tree without containers is not searched to its end.
            guard folders.count < mostNames else {
                trial.isCut = true
                return trial
            }
            let (folder, path) = folders[next]
            next += 1
            var names: [ListedName] = []
            do {
                try list(folder).list(after: 0) { name, _ in
                    guard names.count < mostNames else {
                        trial.isCut = true
                        return false
                    }
                    names.append(name)
                    return true
                }
            } catch {
                if !isGone(error) { trial.unreadFolders += 1 }
            }
            for name in names {
                do {
                    let node = try withNode(name.name, in: folder) { node in
                        if !node.isFolder, !isEnough { _ = try container(node) }
                        return node
                    }
                    guard !node.isFolder else {
                        folders.append((node.id, path + node.name + [UInt8(ascii: "/")]))
                        continue
                    }
                    forget(node.id, count: 1)
                    if isEnough { trial.isCut = true } else { trial.opens = true }
                    return trial
                } catch {
                    let reason = (error as? FolderNode.Refusal)?.error ?? error
                    if isGone(error) {
                        continue
                    } else if name.kind == .folder {
                        trial.unreadFolders += 1
                    } else if areKeysRefused(reason) {
                        trial.refused += 1
                    } else {
                        trial.failed += 1
                        onFailure(path + name.name + Self.ending, reason)
                    }
                }
            }
        }
        return trial
    }

    /// Whether a name has become another file or none, or is deeper than a view goes.
    private func isGone(_ error: any Error) -> Bool {
        switch error as? ViewError {
        case .noSuchName, .replaced, .tooDeep: true
        default: false
        }
    }
}
