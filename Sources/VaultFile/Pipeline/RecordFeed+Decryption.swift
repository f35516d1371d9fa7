import VaultCrypto
import VaultStream

extension RecordFeed {
    /// Decrypts the records that the feed gives, as far as they are within a range.
    ///
    /// - Returns: the SHA-256 of the plaintext, if `hashes`.
    func decrypt(
        _ range: Range<UInt64>, to output: PipelineOutput, hashes: Bool, jobs: ThreadCount,
        onProgress: (UInt64) throws -> Void
    ) throws -> SHA256? {
        var digest = hashes ? Optional(opener.newDigest()) : nil
        if output.hasPlaces {
            try open(
                jobs: jobs, isOrdered: hashes,
                pass: { $0.forEachText(in: range) { text, _ in digest?.update(text) } },
                finishing: { try $0.write(range, to: output) }, onProgress: onProgress)
        } else {
            try open(
                jobs: jobs,
                pass: { piece in
                    try piece.forEachText(in: range) { text, _ in
                        digest?.update(text)
                        try output.write(text)
                    }
                }, onProgress: onProgress)
        }
        try output.finish()
        return digest
    }
}
