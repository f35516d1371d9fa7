internal import ArgumentParser

/// The part of the plaintext that `--offset` and `--length` name. The verbs declare these options themselves: a group of
/// options of its own would cost each start 0.7 million instructions.
struct RangeOptions: Sendable {
    var offset: ByteCount?
    var length: ByteCount?

    static let offsetHelp = ArgumentHelp(
        "Decrypt only from this byte of the plaintext on. K, M, G and T are powers of 1024.", valueName: "size")
    static let lengthHelp = ArgumentHelp("Decrypt only this many bytes.", valueName: "size")

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
