internal import SystemPackage
internal import VaultFile

// Decryption of one input, for decrypt and cat.
extension Opening {
    /// Decrypts an input, or a part of it.
    func decrypt(_ part: RangeOptions, of input: Input, to output: FileDescriptor) throws -> Conversion.Result {
        guard part.option != nil else { return result(try decrypt(input, to: output), input) }
        return try write(part, of: try seekableToWrite(input), from: input, to: output)
    }

    /// Decrypts a container that is open, or a part of it.
    func write(
        _ part: RangeOptions, of reader: SeekableVaultReader, from input: Input, to output: FileDescriptor
    ) throws -> Conversion.Result {
        let range = part.range(of: reader.length)
        try write(range, of: reader, from: input, to: output)
        var result = result(reader.opened, input)
        guard let range else { return result }
        result.permissions = .privateToOwner
        result.modified = nil
        result.length = range.upperBound - range.lowerBound
        return result
    }

    /// The attributes that the output gets. Warns of a damaged header copy.
    func result(_ opened: OpenedContainer, _ input: Input) -> Conversion.Result {
        if let trouble = opened.trouble {
            console.warn(input.subject, trouble, hint: Hint.of(opened.health))
        }
        let metadata = opened.manifest.metadata
        var result = Conversion.Result(
            permissions: metadata.permissions.map { FilePermissions(rawValue: CInterop.Mode($0)) } ?? .privateToOwner,
            modified: metadata.modified, length: opened.manifest.plaintextLength, health: opened.health)
        result.hasTarIndex = opened.manifest.hasTarIndexMember
        return result
    }
}

extension FilePermissions {
    /// 0600.
    static let privateToOwner: FilePermissions = [.ownerRead, .ownerWrite]
}
