import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Every system call of every operation fails once, in every way. The error names the failure, no wrong output appears,
/// and nothing is lost.
@Suite struct FailingCalls {
    /// `make faults` has more faults, for the finished command.
    static let errors: [Errno] = [.ioError, .diskQuotaExceeded, .staleNFSFileHandle]

    @Test(arguments: FaultScene.all, errors) func everyCall(_ scene: FaultScene, _ error: Errno) throws {
        var failing = 0
        var failed: Set<String> = []
        while true {
            let folder = try scene.prepare()
            let number = failing
            let faults = Faults(countsLooks: true) { $0.number == number ? error.rawValue : nil }
            let thrown = try scene.run(in: folder, under: faults)
            guard failing < faults.calls.count else {
                #expect(thrown == nil)
                break
            }
            let call = faults.calls[failing].name
            let place: Comment = "\(call), call \(failing): \(String(describing: thrown))"
            #expect(faults.leftOpen.isEmpty, place)
            if let thrown {
                failed.insert(call)
                // An operation must not call damaged what it could not read.
                #expect(thrown.code == .inputFailed || thrown.code == .outputFailed, place)
                #expect(thrown.systemError == error, place)
            }
            try scene.check(
                folder, succeeded: thrown == nil, texts: [scene.plaintext], mayLeave: call == "unlinkAt",
                place.rawValue)
            if scene.kind == .inPlace {
                #expect(try scene.opened(folder).plaintext == scene.plaintext, place)
                // A second run finishes it.
                #expect(try scene.run(in: folder, under: Faults { _ in nil }) == nil, place)
                let again = try scene.opened(folder)
                #expect(again.health == .intact && again.plaintext == scene.plaintext, place)
            } else {
                #expect(try folder.read("in") == scene.input, place)
            }
            failing += 1
        }
        let expected: Set<String> =
            switch scene.kind {
            case .container: ["openAt", "setPermissions", "sync"]
            case .plaintext: ["openAt", "readAt", "setPermissions", "sync"]
            case .reading: ["openAt", "readAt", "status"]
            case .recovery: ["openAt", "write", "sync"]
            // Repair reads again what it could not read.
            case .inPlace: ["openAt", "lock", "sync", "status"]
            }
        #expect(expected.subtracting(failed).isEmpty, "\(failed)")
    }

    /// Interrupted or partial calls make no difference.
    @Test(arguments: FaultScene.all) func interruptions(_ scene: FaultScene) throws {
        let folder = try scene.prepare()
        let faults = Faults { $0.number.isMultiple(of: 2) ? Errno.interrupted.rawValue : nil }
        #expect(try scene.run(in: folder, under: faults) == nil)
        try scene.check(folder, succeeded: true, texts: [scene.plaintext], "interrupted")
        for count in [1, 7, 4097] {
            let folder = try scene.prepare()
            #expect(try scene.run(in: folder, under: Faults { _ in nil }, calls: .short(count)) == nil)
            try scene.check(folder, succeeded: true, texts: [scene.plaintext], "by \(count) bytes")
            if scene.kind == .inPlace { #expect(try scene.opened(folder).plaintext == scene.plaintext) }
        }
    }
}
