internal import ArgumentParser

/// The part of the plaintext that is wanted.
struct RangeOptions: ParsableArguments {
    @Option(
        name: .customLong("offset"), parsing: .unconditional,
        help: ArgumentHelp(
            "Decrypt only from this byte of the plaintext on. K, M, G and T are powers of 1024.", valueName: "size"))
    var offset: ByteCount?

    @Option(
        name: .customLong("length"), parsing: .unconditional,
        help: ArgumentHelp("Decrypt only this many bytes.", valueName: "size"))
    var length: ByteCount?

    /// The option that is given, for messages; nil if the whole plaintext is wanted.
    var option: String? { offset != nil ? "--offset" : length != nil ? "--length" : nil }

    /// The part of a plaintext of `total` bytes; nil for all of it.
    func range(of total: UInt64) -> Range<UInt64>? {
        guard option != nil else { return nil }
        let first = offset?.value ?? 0
        // Both are below 2⁶³, so the sum fits.
        return first..<(length.map { first + $0.value } ?? max(first, total))
    }
}
