public import VaultFormat
public import VaultTar

extension Manifest {
    /// The index of the tar stream that is the plaintext (Spec, chapter 24). Nil if there is none, or if its form is
    /// wrong, which ``hasMalformedTarIndex`` tells.
    ///
    /// Each use parses it.
    public var tarIndex: TarIndex? { metadata.tarIndexValue.flatMap(TarIndex.init(value:)) }

    /// Whether there is an index, whatever its form is. This parses nothing.
    public var hasTarIndexMember: Bool { metadata.tarIndexValue != nil }

    /// Whether there is an index whose form is wrong. It counts as absent (TAR-6).
    public var hasMalformedTarIndex: Bool { hasTarIndexMember && tarIndex == nil }
}

extension Metadata {
    /// The value of the member, whatever it is.
    package var tarIndexValue: [UInt8]? { member(TarIndex.tag) }

    /// - Parameter value: the new value of the member; nil for none.
    mutating func setTarIndex(_ value: [UInt8]?) { setMember(TarIndex.tag, to: value) }
}
