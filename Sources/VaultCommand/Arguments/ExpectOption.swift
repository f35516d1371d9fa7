internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

/// The option that names the state of a header that the user remembers.
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

    /// The pin in the file; nil if no file is named.
    func pin(for operands: [PathArgument], _ many: ManyInputs? = nil) throws(Failure) -> HeaderPin? {
        guard let file else { return nil }
        guard operands.count == 1, many?.isFleet != true else { throw .usage("--expect", "is for a single INPUT") }
        guard !file.isDash else { throw .usage("--expect", "takes a file", hint: .nameFile) }
        return try file.subject.attempt(system: .noInput) {
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
