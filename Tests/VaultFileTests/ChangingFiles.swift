import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Another program changes the input during the work, before each of the system calls. No output holds bytes that no
/// input had, and no replaced file is destroyed.
@Suite struct ChangingFiles {
    enum Change: CaseIterable, Sendable {
        case shrunk, emptied, grown, exchanged, overwritten, removed

        func make(_ scene: FaultScene, _ folder: TemporaryFolder) throws {
            switch self {
            case .shrunk: try Self.cut(folder["in"], to: Int64(scene.input.count / 2))
            case .emptied: try Self.cut(folder["in"], to: 0)
            case .grown:
                let file = try FileDescriptor.open(folder["in"], .writeOnly, options: .append)
                try file.closeAfter { try file.writeFully([UInt8](repeating: 7, count: 1000).span) }
            case .exchanged:
                try folder.write(scene.other, to: "other")
                guard SystemCalls().renameAt(-100, folder["other"], folder["in"]) == 0 else { throw Errno.ioError }
            case .overwritten: try folder.write(scene.other, to: "in")
            case .removed: try folder.remove("in")
            }
        }

        private static func cut(_ path: FilePath, to length: Int64) throws {
            let file = try FileDescriptor.open(path, .writeOnly)
            try file.closeAfter {
                guard SystemCalls().truncate(file.rawValue, length) == 0 else { throw Errno.ioError }
            }
        }
    }

    @Test(arguments: FaultScene.all, Change.allCases) func beforeEveryCall(_ scene: FaultScene, _ change: Change) throws
    {
        var changing = 0
        while true {
            let folder = try scene.prepare()
            let number = changing
            let faults = Faults(countsLooks: true) { call in
                guard call.number == number else { return nil }
                // A failure here shows in the results below.
                return (try? change.make(scene, folder)) == nil ? Errno.ioError.rawValue : nil
            }
            let thrown = try scene.run(in: folder, under: faults)
            guard changing < faults.calls.count else {
                #expect(thrown == nil && changing > 5)
                break
            }
            let place = "\(faults.calls[changing].name), call \(changing): \(String(describing: thrown))"
            try scene.check(folder, succeeded: thrown == nil, texts: texts(of: scene, change, folder), place)
            if scene.kind == .inPlace, change == .exchanged {
                // Whatever the operation locked, the other program's file is there, perhaps changed itself.
                let found = try scene.opened(folder)
                #expect([scene.plaintext, scene.otherPlaintext].contains(found.plaintext), "\(place)")
                #expect(found.plaintext == scene.otherPlaintext || thrown != nil || isLast(number, faults), "\(place)")
            }
            if change == .removed, scene.kind == .inPlace, thrown != nil {
                #expect(try !folder.names.contains("in"), "\(place)")
            }
            changing += 1
        }
    }

    /// Whether the name was given before or is given by this call: no system compares and renames in one step.
    private func isLast(_ number: Int, _ faults: Faults) -> Bool {
        number >= (faults.calls.lastIndex { $0.name == "renameAt" } ?? .max)
    }

    /// The outputs that are allowed.
    private func texts(of scene: FaultScene, _ change: Change, _ folder: TemporaryFolder) throws -> [[UInt8]] {
        var texts = [scene.plaintext, scene.otherPlaintext]
        guard scene.kind == .container, try folder.names.contains("out") else { return texts }
        // The container holds what was read. This may be no state that the file ever had, but each byte was in its
        // place at some time.
        let read = try VaultTestSupport.read(folder.read("out"), by: .whole).plaintext
        let (right, other) = (scene.plaintext, scene.otherPlaintext)
        let isRead = read.indices.allSatisfy { index in
            index >= right.count ? read[index] == 7 : read[index] == right[index] || read[index] == other[index]
        }
        if isRead, change != .removed { texts.append(read) }
        return texts
    }
}
