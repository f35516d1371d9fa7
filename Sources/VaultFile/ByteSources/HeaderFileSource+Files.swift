public import SystemPackage
import VaultFormat
public import VaultStream

extension HeaderFileSource {
    /// A header file in a file system, which is opened again for each reading.
    public static func file(at path: FilePath) -> HeaderFileSource {
        .file(at: .path(path))
    }

    /// The same for a file at a place.
    public static func file(at place: FilePlace) -> HeaderFileSource {
        HeaderFileSource {
            // It is replaced as a whole and never written in place, so it needs no lock.
            try FileSource(at: place, locking: .none).headerFileBytes()
        }
    }
}

extension ByteSource {
    /// The bytes of a header file. One byte more than a header file can have shows that it is none.
    func headerFileBytes() throws -> [UInt8] {
        try bytes(at: 0, count: Int(min(size(), UInt64(HeaderFile.maximumLength) + 1)))
    }
}
