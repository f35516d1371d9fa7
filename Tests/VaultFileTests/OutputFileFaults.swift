import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Every system call that makes an output file appear fails once. The target is as it was, and no file is left behind.
@Suite struct OutputFileFaults {
    struct Case: Sendable, CustomTestStringConvertible {
        let isNamed: Bool
        let lacksRename: Bool
        var lacksLinks = false
        let isReplacing: Bool
        let isThere: Bool
        let error: Errno

        var testDescription: String {
            "\(isNamed ? "named" : "nameless")\(lacksLinks ? " claimed" : lacksRename ? " linked" : "")\(isReplacing ? " replacing" : "")"
                + "\(isThere ? " there" : ""), \(error)"
        }
    }

    static let cases: [Case] = [Errno.ioError, .noSpace, .notPermitted, .readOnlyFileSystem].flatMap { error in
        [(false, false, false), (true, false, false), (true, true, false), (true, true, true)].flatMap { way in
            [(false, false), (true, true), (true, false)].map { replacing, there in
                Case(
                    isNamed: way.0, lacksRename: way.1, lacksLinks: way.2, isReplacing: replacing, isThere: there,
                    error: error)
            }
        }
    }

    private static let old = [UInt8]("what stood there".utf8)
    private static let new = [UInt8]("what is new".utf8)

    @Test(arguments: cases) func everyCall(_ test: Case) throws {
        var failing = 0
        var outcomes: [String: Int] = [:]
        while true {
            let folder = try TemporaryFolder()
            if test.isThere { try folder.write(Self.old, to: "target") }
            let number = failing
            let faults = Faults { call in
                if test.isNamed, call.name == "openNameless" { return Errno.notSupported.rawValue }
                if test.lacksRename, call.name == "renameExclusiveAt" { return Errno.noFunction.rawValue }
                if test.lacksLinks, call.name == "linkAt" { return Errno.notPermitted.rawValue }
                // A file that cannot be removed stays; there is nothing to test.
                return call.number == number && call.name != "unlinkAt" ? test.error.rawValue : nil
            }
            let error = faults.during { Self.put(folder["target"], test) }
            guard failing < faults.calls.count else {
                #expect(error == nil)
                break
            }
            let failed = faults.calls[failing].name
            #expect(faults.leftOpen.isEmpty, "\(failed)")
            let names = try folder.names
            if let error {
                outcomes[failed, default: 0] += 1
                #expect(error.code == .outputFailed && error.systemError == test.error, "\(failed): \(error)")
                // The sync of the folder comes when the file is there already.
                let isThere = failed == "sync" && faults.calls.last?.name == "sync" && outcomes["sync"] == 2
                #expect(names == (test.isThere || isThere ? ["target"] : []), "\(failed)")
                if isThere {
                    #expect(try folder.read("target") == Self.new, "\(failed)")
                } else if test.isThere {
                    #expect(try folder.read("target") == Self.old, "\(failed)")
                }
            } else {
                // Where it succeeds without the call.
                let needed =
                    test.error == .notPermitted ? [] : ["setPermissions"] + (test.lacksLinks ? [] : ["linkAt"])
                let without = ["openNameless", "unlinkAt", "renameExclusiveAt", "lock", "linkAt", "setPermissions"]
                #expect(without.contains(failed) && !needed.contains(failed), "\(failed)")
                #expect(names == ["target"])
                #expect(try folder.read("target") == Self.new)
            }
            failing += 1
        }
        // At least: folder, write, mode, time, sync of the file and of the folder.
        #expect(outcomes.values.reduce(0, +) >= 6)
        let modes = test.error == .notPermitted ? [] : ["setPermissions"]
        for name in ["openAt", "write", "setModified", "sync"] + modes { #expect(outcomes[name] != nil, "\(name)") }
    }

    private static func put(_ path: FilePath, _ test: Case) -> VaultError? {
        do throws(VaultError) {
            let file = try OutputFile(at: path, replacing: test.isReplacing)
            try file.write(new.span)
            try file.commit(modified: Timestamp(seconds: 1, nanoseconds: 0))
            return nil
        } catch {
            return error
        }
    }

    /// Makes each call again that may be interrupted.
    @Test(arguments: [false, true]) func interrupted(_ isReplacing: Bool) throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.old, to: "there")
        let faults = Faults { call in
            call.name != "readLink" && call.number.isMultiple(of: 2) ? Errno.interrupted.rawValue : nil
        }

        let test = Case(
            isNamed: false, lacksRename: false, isReplacing: isReplacing, isThere: isReplacing, error: .interrupted)
        let error = faults.during { Self.put(folder[isReplacing ? "there" : "new"], test) }
        #expect(error == nil)
        #expect(try folder.names == (isReplacing ? ["there"] : ["new", "there"]))
        #expect(try folder.read(isReplacing ? "there" : "new") == Self.new)
    }

    /// A folder without anything to sync has not failed.
    @Test(arguments: [Errno.invalidArgument, .notSupported, .noFunction]) func folderWithoutSync(_ error: Errno) throws
    {
        let folder = try TemporaryFolder()
        let faults = Faults { call in call.name == "sync" && call.number > 5 ? error.rawValue : nil }
        let test = Case(isNamed: false, lacksRename: false, isReplacing: false, isThere: false, error: error)
        let result = faults.during { Self.put(folder["new"], test) }
        #expect(faults.calls.last?.name == "sync" && faults.calls.count > 6)
        #expect(result == nil)
        #expect(try folder.names == ["new"])
    }
}
