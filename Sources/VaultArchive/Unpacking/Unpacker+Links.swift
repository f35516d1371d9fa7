internal import CPlatform
internal import SystemPackage
internal import VaultSystem
internal import VaultTar

/// Hard links.
extension Unpacker {
    func addHardLink(
        _ member: TarEntry, _ components: ArraySlice<ArraySlice<UInt8>>, _ find: (TarEntry) throws -> TarEntry?
    ) throws -> String? {
        guard let path = TarPath(trimming: member.linkTarget) else {
            throw Refusal.linkTargetIllegal(member.linkTarget)
        }
        let workshop = try workshop(for: member, components)
        var target: TarEntry?
        if let place = place(ofFileAt: path, for: member, components) {
            let isSure = place >= lastGap
            if !isSure { target = try find(member) }
            if isSure || target?.place == place, try link(to: path, of: place, components, in: workshop) { return nil }
        }
        guard let target = try target ?? find(member) else { throw Refusal.linkWithoutTarget(member.linkTarget) }
        switch target.kind {
        case .file, .pipe: break
        case .symbolicLink:
            // It is judged again, because it begins in another folder.
            guard options.makesAllLinks || Self.staysInside(target.linkTarget, depth: components.count - 1) else {
                throw Refusal.linkLeadsOut(target.linkTarget)
            }
        default: throw Refusal.linkWithoutTarget(member.linkTarget)
        }
        return try addFile(member, from: target, components)
    }

    /// The place of the member whose file is at a path, if a hard link may lead to this file.
    private func place(
        ofFileAt path: TarPath, for member: TarEntry, _ components: ArraySlice<ArraySlice<UInt8>>
    ) -> UInt64? {
        let parts = path.bytes.split(separator: UInt8(ascii: "/"))[...]
        // The target of a symbolic link was judged where that link is. From higher up it leads farther out.
        let isHigher = components.count < parts.count && !options.makesAllLinks
        let name = FilePath(bytes: [UInt8](parts.last ?? []))
        return try? chain.with(parts.dropLast(), making: nil) { folder in
            let there = try Stat(name, relativeTo: folder, flags: .symlinkNoFollow)
            guard there.type != .directory, let place = made[FileIdentity(there)], place < member.place,
                !(place..<member.place).contains(failed[path.hashValue] ?? .max)
            else { return nil }
            return there.type == .symbolicLink && isHigher ? nil : place
        }
    }

    /// Gives a file another name.
    ///
    /// - Parameter place: the place of its member.
    /// - Returns: whether that is possible. It is not between two file systems, nor between some parts of one.
    private func link(
        to path: TarPath, of place: UInt64, _ components: ArraySlice<ArraySlice<UInt8>>, in workshop: Workshop
    ) throws -> Bool {
        let parts = path.bytes.split(separator: UInt8(ascii: "/"))[...]
        let name = FilePath(bytes: [UInt8](parts.last ?? []))
        defer { workshop.clear() }
        let isLinked = try? chain.with(parts.dropLast(), making: nil) { folder in
            try retrying {
                unsafe name.withPlatformString { name in
                    unsafe Workshop.file.withPlatformString { file in
                        unsafe linkat(folder.rawValue, name, workshop.folder.rawValue, file, 0)
                    }
                }
            }
            let linked = try Stat(Workshop.file, relativeTo: workshop.folder, flags: .symlinkNoFollow)
            // Another program may have put something else there.
            return made[FileIdentity(linked)] == place
        }
        guard isLinked == true else { return false }
        do {
            try self.name(nil, components, from: workshop)
            return true
        } catch Refusal.system(.improperLink) {
            // A file of its own is written in the folder of the link.
            return false
        }
    }
}
