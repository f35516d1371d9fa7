public import VaultTar

extension SeekableVaultReader {
    /// The plaintext as a tar stream. Whether it is one shows when it is read.
    ///
    /// Each header costs at least a record. To find one path without reading all headers, give
    /// ``TarSource/find(_:index:before:)`` the index of ``OpenedContainer/manifest``. The source keeps the reader.
    public var tarSource: TarSource {
        TarSource { [self] offset, count in
            let start = min(offset, length)
            return try bytes(start..<min(length, start + UInt64(count)))
        }
    }
}
