internal import CArchive
internal import CPlatform
internal import SystemPackage
internal import VaultSystem
internal import VaultTar

/// The attributes of what is extracted.
extension Unpacker {
    /// Gives libarchive the headers of what it is to make at a path.
    ///
    /// - Returns: what could not be restored.
    func writeHeader(_ member: TarEntry, at path: FilePath, by writer: OpaquePointer) throws -> String? {
        let calls = library.calls
        unsafe path.withPlatformString { unsafe calls.archive_entry_copy_pathname(entry, $0) }
        unsafe calls.archive_entry_copy_hardlink(entry, nil)
        if member.kind == .symbolicLink {
            let target = member.linkTarget.map(CChar.init(bitPattern:)) + [0]
            unsafe target.withUnsafeBufferPointer { unsafe calls.archive_entry_copy_symlink(entry, $0.baseAddress) }
        }
        // For example the flag of a file that cannot be removed. This is a second guard: no writer is asked to restore flags.
        unsafe calls.archive_entry_set_fflags(entry, 0, 0)
        if !options.preserves { limitAttributes() }
        renameAttributes(member.attributeNames)
        let status = unsafe calls.archive_write_header(writer, entry)
        if status == ARCHIVE_OK { return nil }
        let error = unsafe library.error(of: writer, "cannot be made")
        guard status == ARCHIVE_WARN else { throw error.systemError.map(Refusal.system) ?? error }
        return error.reason
    }

    /// libarchive leaves out the bits for set-user-ID and set-group-ID without a word if the file belongs to another user
    /// or group than the member.
    func missingBits(of member: TarEntry, in workshop: Workshop) -> String? {
        let special: mode_t = 0o6000
        let wanted = unsafe library.calls.archive_entry_perm(entry) & special
        guard options.preserves, member.kind == .file, wanted != 0,
            let stat = try? Stat(Workshop.file, relativeTo: workshop.folder, flags: .symlinkNoFollow),
            mode_t(stat.permissions.rawValue) & special != wanted
        else { return nil }
        return "its mode has no bits for set-user-ID and set-group-ID here: its owner or group is another one"
    }

    /// Leaves out what a stranger could gain from: programs that run as another user, lists that let others in.
    private func limitAttributes() {
        let calls = library.calls
        let bits = unsafe UInt16(truncatingIfNeeded: calls.archive_entry_perm(entry))
        unsafe calls.archive_entry_set_perm(entry, mode_t(bits & 0o777 & ~options.mask))
        unsafe calls.archive_entry_acl_clear(entry)
    }

    /// Gives extended attributes the names that they had, and leaves out all but those of users unless all are to be
    /// restored.
    ///
    /// libarchive decodes the names of its own form, and leaves those of star's form as they are. Its own tar program
    /// writes both. To decode both would make another attribute of a name that has a `%`.
    ///
    /// - Parameter encoded: the names in star's form. If there are any, the others are left out.
    private func renameAttributes(_ encoded: Set<[UInt8]>) {
        let calls = library.calls
        var kept: [(name: [CChar], value: [UInt8])] = []
        _ = unsafe calls.archive_entry_xattr_reset(entry)
        while true {
            var (name, value, count): (UnsafePointer<CChar>?, UnsafeRawPointer?, Int) = (nil, nil, 0)
            guard unsafe calls.archive_entry_xattr_next(entry, &name, &value, &count) == ARCHIVE_OK else { break }
            guard let name = unsafe name else { continue }
            let bytes = unsafe UnsafeBufferPointer(start: name, count: strlen(name)).map { UInt8(bitPattern: $0) }
            guard encoded.isEmpty || encoded.contains(bytes) else { continue }
            let decoded = encoded.isEmpty ? bytes : Self.decoded(bytes)
            // Judged after it is decoded: otherwise a name could become that of another kind.
            guard options.preserves || decoded.starts(with: "user.".utf8) else { continue }
            let content = unsafe [UInt8](UnsafeRawBufferPointer(start: value, count: count))
            kept.append((decoded.map(CChar.init(bitPattern:)) + [0], content))
        }
        unsafe calls.archive_entry_xattr_clear(entry)
        for (name, value) in kept {
            unsafe name.withUnsafeBufferPointer { name in
                unsafe value.withUnsafeBytes { value in
                    unsafe calls.archive_entry_xattr_add_entry(entry, name.baseAddress, value.baseAddress, value.count)
                }
            }
        }
    }

    /// The name with each `%` and two hexadecimal digits as the byte that they mean, but no NUL.
    static func decoded(_ name: [UInt8]) -> [UInt8] {
        var (bytes, rest) = ([UInt8](), name[...])
        while let first = rest.popFirst() {
            let digits = rest.prefix(2)
            let isCode =
                first == UInt8(ascii: "%") && digits.count == 2 && digits.allSatisfy { $0 != UInt8(ascii: "+") }
            guard isCode, let byte = UInt8(String(decoding: digits, as: UTF8.self), radix: 16), byte != 0 else {
                bytes.append(first)
                continue
            }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}
