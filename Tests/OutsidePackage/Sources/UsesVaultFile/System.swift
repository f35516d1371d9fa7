import Foundation
import VaultFile

func makeFolder(_ path: FilePath) throws {
    try FileManager.default.createDirectory(atPath: path.string, withIntermediateDirectories: true)
}

func removeFolder(_ path: FilePath) throws {
    try FileManager.default.removeItem(atPath: path.string)
}

func exitWithFailure() -> Never {
    exit(1)
}

func contents(_ path: FilePath) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: path.string)))
}

func put(_ bytes: [UInt8], at path: FilePath) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path.string))
}
