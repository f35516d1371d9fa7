package import SystemPackage
package import VaultFile

/// A container in a file of its own, for tests of changes in place.
package struct StoredContainer {
    package let folder: TemporaryFolder
    package var path: FilePath { folder["c"] }

    package init(_ bytes: [UInt8]) throws {
        folder = try TemporaryFolder()
        try folder.write(bytes, to: "c")
    }

    package var bytes: [UInt8] { get throws { try folder.read("c") } }

    /// The result for a set of secrets.
    package func reading(_ keys: KeySet, context: Context = .none) throws -> Reading {
        try Reading { sink in
            let reader = try SeekableVaultReader(FileSource(at: path), with: Credentials(keys, context: context))
            try reader.readAll { sink($0) }
            return reader.opened
        }
    }

    /// The error of an operation; nil if it succeeds.
    package static func code(_ body: () throws -> Void) throws -> VaultError.Code? {
        do {
            try body()
            return nil
        } catch let error as VaultError {
            return error.code
        }
    }
}
