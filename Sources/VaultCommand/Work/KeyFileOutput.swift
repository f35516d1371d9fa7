internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// A secret that can have a file of its own.
protocol FiledSecret {
    /// Lends the text of its file.
    func lendFile(created: Timestamp, _ body: (Span<UInt8>) throws -> Void) throws
}

extension SymmetricKey: FiledSecret {
    func lendFile(created: Timestamp, _ body: (Span<UInt8>) throws -> Void) throws {
        try withKeyFile(created: created, body)
    }
}

extension Identity: FiledSecret {
    func lendFile(created: Timestamp, _ body: (Span<UInt8>) throws -> Void) throws {
        try withFile(created: created, body)
    }
}

extension PluginIdentity: FiledSecret {
    func lendFile(created: Timestamp, _ body: (Span<UInt8>) throws -> Void) throws {
        try withFile(created: created, body)
    }
}

/// Writes key files and files of identities. No other code writes a secret out of the program.
extension KeyOutputOptions {
    /// Writes the key that `make` returns. `make` is called only when the output is open.
    ///
    /// - Parameter files: The files that the run reads.
    /// - Returns: The key and where it was written.
    func write<Key: FiledSecret>(
        on console: Console, created: Timestamp, keeping files: Set<FileIdentity> = [],
        _ make: () throws -> Key
    ) throws -> (key: Key, destination: Destination) {
        let destination = try destination()
        console.standardOutputHoldsData = destination == .standardOutput
        let key = try make()
        do {
            let made = try Outputs(keeping: files).open(destination, replaces: false)
            made.reportLeftovers(on: console)
            try key.lendFile(created: created) { try made.descriptor.writeFully($0) }
            let mode = try made.finish(permissions: .privateToOwner, modified: nil, synchronize: !noSync)
            if let mode, !mode.isDisjoint(with: [.groupRead, .otherRead]) {
                console.warn(
                    destination.subject, "others can read this key: its file system keeps no modes",
                    hint: .keepElsewhere)
            }
        } catch {
            Signals.endIfClosedPipe(error)
            throw Failure(error, about: destination.subject)
        }
        return (key, destination)
    }

    private func destination() throws(Failure) -> Destination {
        let rules = OutputRules(naming: .none, output: output ?? .dash, replaces: false)
        if let output, output.endsWithSlash {
            throw Failure(.cannotCreate, .path(output.bytes), "is a folder; a key file needs a file name")
        }
        if output == nil, Platform.isTerminal(.standardOutput) {
            throw Failure(
                .usage, .standardOutput, "is a terminal, on which the secret would stay visible",
                hint: .outputFileOrTerminal)
        }
        return try rules.destination()
    }
}
