package import VaultCrypto
import VaultTar

/// What is found out about a plaintext while its bytes pass in their order, for the manifest.
package struct PassingPlaintext: ~Copyable {
    private var digest: SHA256?
    private var index: TarIndexMaker?

    /// - Parameters:
    ///   - digest: the SHA-256 that the bytes go to; nil if there is to be none.
    ///   - hasIndex: whether an index is made if the plaintext is a tar stream.
    package init(digest: consuming SHA256?, hasIndex: Bool) {
        self.digest = digest
        index = hasIndex ? TarIndexMaker() : nil
    }

    package mutating func update(_ bytes: Span<UInt8>) {
        digest?.update(bytes)
        index?.take(bytes)
    }

    package consuming func finish() -> Findings {
        // The plaintext may be no tar stream, which is no error (TAR-7).
        Findings(digest: digest.take()?.finish(), index: index.take().map { try? $0.finish() })
    }

    /// What was found out.
    package struct Findings: Sendable {
        /// The SHA-256 of the plaintext.
        package let digest: [UInt8]?
        /// The value of the index. Nil if none was to be made; nil within if the plaintext has none.
        package let index: [UInt8]??

        package init(digest: [UInt8]?, index: [UInt8]??) {
            self.digest = digest
            self.index = index
        }

        /// Nothing.
        package static let none = Findings(digest: nil, index: nil)
    }
}
