internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

/// The options that say what the user knows of the header of a container: the state that they remember, and the header
/// file.
struct ExpectOption: ParsableArguments {
    @Option(
        name: .customLong("expect"), parsing: .unconditional,
        help: ArgumentHelp(
            """
            Refuse the container, with status 65, if its header is older than the one whose pin this file has, or is \
            another one of the same generation: someone may have put an old header back. inspect --pin makes the \
            pin. For a single INPUT.
            """, valueName: "pin"))
    var file: PathArgument?

    @Option(
        name: .customLong("header"), parsing: .unconditional,
        help: ArgumentHelp(
            """
            The header file of the container, if detach or encrypt --header has moved its slots there. Without this \
            option, the file INPUT.COMMITMENT.hdr beside INPUT is used if it is there. A lost header file leaves nothing \
            that opens the container (status 66); an old one opens it with the keys of its time; that of another \
            container is refused (status 65), and so is any header file for a container that has its own slots (status \
            64). For a single INPUT.
            """, valueName: "file"))
    var header: PathArgument?

    @Option(
        name: .customLong("expect-header"), parsing: .unconditional,
        help: ArgumentHelp(
            """
            The same as --expect, for the header file: its generations are its own. inspect --pin of a header file makes \
            the pin.
            """, valueName: "pin"))
    var headerPin: PathArgument?

    /// What the options say.
    func known(for operands: [PathArgument], _ many: ManyInputs? = nil) throws(Failure) -> KnownHeader {
        for (file, option) in [(file, "--expect"), (header, "--header"), (headerPin, "--expect-header")] {
            guard let file else { continue }
            guard operands.count == 1, many?.isFleet != true else { throw .usage(option, "is for a single INPUT") }
            guard !file.isDash else { throw .usage(option, "takes a file", hint: .nameFile) }
        }
        if let header { _ = try header.statAsInput() }
        return KnownHeader(
            expecting: try file.map { file throws(Failure) in try Self.pin(in: file) }, file: header?.path,
            expectingFile: try headerPin.map { file throws(Failure) in try Self.pin(in: file) })
    }

    /// The same for detach and attach, whose header file need not be there, or is a place.
    func knownHeaderPlace(for operand: PathArgument) throws(Failure) -> KnownHeader {
        if let header, header.isDash { throw .usage("--header", "takes a file", hint: .nameFile) }
        var others = self
        others.header = nil
        return try others.known(for: [operand])
    }

    private static func pin(in file: PathArgument) throws(Failure) -> HeaderPin {
        try file.subject.attempt(system: .noInput) {
            let descriptor = try file.opened()
            defer { try? descriptor.close() }
            do {
                return try SecretText(contentsOf: descriptor).withBytes { bytes in
                    try HeaderPin(text: String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self))
                }
            } catch let malformed as SecretText.Malformed {
                throw Failure(.usage, file.subject, malformed.reason)
            }
        }
    }
}

/// What the user knows of the header of a container.
struct KnownHeader: Sendable {
    /// The state of its copies that the user remembers.
    var expecting: HeaderPin?
    /// The header file that the user has named.
    var file: FilePath?
    /// The state of the header file that the user remembers.
    var expectingFile: HeaderPin?

    /// What opens a container.
    ///
    /// - Parameter headerFile: the header file that is used; nil for none.
    func credentials(_ keys: any KeyProvider, _ context: Context, _ headerFile: FilePlace? = nil) -> Credentials {
        Credentials(
            keys, context: context, expecting: expecting, headerFile: headerFile.map { .file(at: $0) },
            expectingHeaderFile: expectingFile)
    }

    /// Calls `body` with the header file that the user has named, or with the one that the container's name leads to.
    func withHeaderFile<R>(of place: FilePlace?, _ body: (FilePlace?) throws -> R) throws -> R {
        if let file { return try body(.path(file)) }
        guard let place else { return try body(nil) }
        return try Vault.withHeaderFile(of: place, body)
    }
}
