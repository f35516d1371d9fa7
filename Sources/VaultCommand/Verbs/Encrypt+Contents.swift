internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// Making a container of one input.
extension Encrypt {
    func encrypt(
        _ input: Input, to output: FileDescriptor, for recipients: [Recipient], _ sealing: SealOptions,
        into made: MadeHeaderFile?, threads: Int, _ console: Console
    ) throws -> Conversion.Result {
        var sealing = sealing
        if !noMetadata { sealing.metadata = Self.metadata(of: input) }
        var progress = ProgressLine(input.subject, total: input.size, on: console)
        defer { progress.finish() }
        let stretching = Stretching()
        defer { stretching.end() }
        if keys.mayStretch { stretching.begin() }
        let isFolder = input.stat.type == .directory
        if isFolder { sealing.tarIndex = true }
        let seal = { (source: FileDescriptor, checkEnd: @escaping () throws -> Void) in
            let manifest = try Vault.encrypt(
                from: source, to: output, for: recipients, options: sealing, jobs: threads,
                onProgress: {
                    // Slots are made before the first byte is read.
                    stretching.end()
                    progress.update($0)
                }, onEnd: checkEnd, storingHeaderFile: made.map { made in { try made.store($0) } })
            made?.noteSealed()
            return manifest
        }
        guard isFolder else {
            let manifest = try seal(input.descriptor) {}
            // With --remove-source, `RemovableInput` reports a change as an error.
            if !self.output.removeSource {
                input.warnIfChanged(read: manifest.plaintextLength, hint: .encryptAgain, console)
            }
            return Self.result(input, manifest, withIndex: index, console)
        }
        let packing = FolderPacking(
            root: input.operand, outputs: outputs(of: input, output), console: console)
        let (manifest, tally) = try packing.run(seal)
        var result = Self.result(input, manifest, withIndex: true, console)
        result.shortfall = tally.shortfall(about: input.subject)
        return result
    }

    /// What a folder's container must not hold: the file that is being written, and the container of an earlier run,
    /// which it replaces.
    private func outputs(of folder: Input, _ output: FileDescriptor) -> Set<FileIdentity> {
        var outputs: Set<FileIdentity> = []
        if let stat = try? output.stat() { outputs.insert(FileIdentity(stat)) }
        guard let named = self.output.output, !named.isDash else { return outputs }
        var path = named.path
        if (try? path.stat())?.type == .directory {
            path.append(FilePath(bytes: folder.operand.folderName + OutputRules.tarSuffix + OutputRules.suffix).string)
        }
        if let stat = try? path.stat(), stat.type == .regular { outputs.insert(FileIdentity(stat)) }
        return outputs
    }

    private static func result(
        _ input: Input, _ manifest: Manifest, withIndex: Bool, _ console: Console
    ) -> Conversion.Result {
        if withIndex, manifest.tarIndex == nil {
            // What came through a pipe cannot be looked at again.
            let mayBeCompressed = !input.canSeek || KnownFormats.name(of: input.prefix()) != nil
            console.warn(
                input.subject, "is no tar stream that has its end, so the container has no index",
                hint: mayBeCompressed ? .decompressFirst : nil)
        }
        let pathless = input.stat.type == .directory ? 0 : manifest.tarIndex?.pathlessCount ?? 0
        if pathless > 0 {
            let have = pathless == 1 ? "has a path" : "have paths"
            console.warn(
                input.subject,
                "\(pathless.counted("member")) of the tar stream \(have) that extract, cat and mount refuse: absolute, "
                    + "with a component .., or too long",
                hint: .tarTakesOut("CONTAINER"))
        }
        return result(input, manifest)
    }

    static func result(_ input: Input, _ manifest: Manifest) -> Conversion.Result {
        let permissions = input.stat.type == .regular ? input.stat.plainPermissions : FilePermissions(rawValue: 0o666)
        return Conversion.Result(permissions: permissions, modified: nil, length: manifest.plaintextLength, health: nil)
    }

    static func metadata(of input: Input) -> Metadata {
        var metadata = Metadata()
        if input.stat.type == .directory {
            let folder = input.operand.folderName
            let name = String(validating: folder + OutputRules.tarSuffix, as: UTF8.self)
            if !folder.isEmpty, let name, Metadata.isValidName(name) { metadata.name = name }
        }
        guard input.stat.type == .regular else { return metadata }
        // A name that the format cannot hold is left out: encrypting the file matters more.
        let name = input.operand.lastComponent
        if !input.operand.isDash, let name = String(validating: name, as: UTF8.self), Metadata.isValidName(name) {
            metadata.name = name
        }
        metadata.modified = input.stat.modified
        metadata.permissions = UInt16(truncatingIfNeeded: input.stat.plainPermissions.rawValue)
        return metadata
    }
}
