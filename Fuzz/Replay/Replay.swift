import FoundationEssentials
import SystemPackage
import Testing
import VaultTestSupport

/// Tries every input again that ever broke a target, or nearly did. One after the other, as in the fuzzer, because
/// targets share one folder and one connection to the reference.
@Suite(.serialized) struct Replay {
    @Test(arguments: Regression.all) func replaying(_ regression: Regression) throws {
        try regression.target.attempt(regression.input)
    }

    @Test func everyFolderIsATargets() throws {
        let names = Set(FuzzTargets.all.map { $0.name })
        #expect(try Set(Regression.folders()) == names)
    }
}

/// A file in `Fuzz/regressions`, and the target that its folder names.
struct Regression: Sendable, CustomTestStringConvertible {
    let target: any FuzzTarget.Type
    let name: String
    let input: [UInt8]

    var testDescription: String { "\(target.name)/\(name)" }

    static let all: [Regression] = {
        do {
            return try FuzzTargets.all.flatMap { target in
                let folder = path.appending(target.name)
                return try FileManager.default.contentsOfDirectory(atPath: folder.string).sorted().map {
                    Regression(target: target, name: $0, input: try Repository.contents(folder.appending($0)))
                }
            }
        } catch {
            fatalError("the regressions cannot be read: \(error)")
        }
    }()

    static func folders() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path.string)
    }

    private static let path = Repository.path("Fuzz/regressions")
}
