import VaultCrypto
import VaultStream

extension RecordFeed {
    /// Decrypts what it gives of a range.
    ///
    /// - Returns: the SHA-256 of the plaintext, where it was to be computed.
    func decrypt(
        _ range: Range<UInt64>, _ cipher: RecordCipher, to output: PipelineOutput, hashes: Bool, jobs: Int,
        onProgress: (UInt64) throws -> Void
    ) throws -> SHA256? {
        var digest = hashes ? Optional(cipher.newDigest()) : nil
        if output.hasPlaces {
            try RecordOpener.run(
                self, cipher, jobs: jobs, isOrdered: hashes,
                pass: { $0.forEachText(in: range) { text, _ in digest?.update(text) } },
                finishing: { try $0.write(range, to: output) }, onProgress: onProgress)
            try output.finish()
        } else {
            try RecordOpener.run(
                self, cipher, jobs: jobs,
                pass: { opener in
                    try opener.forEachText(in: range) { text, _ in
                        digest?.update(text)
                        try output.write(text)
                    }
                }, onProgress: onProgress)
        }
        return digest
    }
}
