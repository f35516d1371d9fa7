import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Another program puts a link or a file under the output's name before each of the system calls. The target of the
/// link is left alone, or is replaced as a whole if replacing was asked for, and is never written into.
@Suite struct OutputRaces {
    enum Put: CaseIterable, Sendable { case link, danglingLink, file }

    private static let text = randomBytes(3 * 4096 + 5, seed: 70)
    private static let victim = [UInt8]("not to be touched".utf8)

    @Test(arguments: Put.allCases, [false, true]) func beforeEveryCall(_ put: Put, _ isReplacing: Bool) throws {
        let container = try sealed(Self.text, options: SealOptions(chunk: .minimum))
        var moment = 0
        while true {
            let folder = try TemporaryFolder()
            try folder.write(container, to: "in")
            try folder.write(Self.victim, to: "victim")
            if isReplacing { try folder.write(Self.victim, to: "out") }
            let number = moment
            let faults = Faults(countsLooks: true) { call in
                guard call.number == number else { return nil }
                // A failure here shows in the results below.
                return (try? Self.put(put, in: folder)) == nil ? Errno.ioError.rawValue : nil
            }
            let result = Result {
                try SystemCalls.$current.withValue(.withoutWaiting) {
                    try faults.during {
                        try Vault.decryptFile(
                            at: folder["in"], to: folder["out"], replacing: isReplacing,
                            with: .key(testKey(1)))
                    }
                }
            }
            guard moment < faults.calls.count else {
                #expect(moment > 8)
                break
            }
            let place: Comment = "\(faults.calls[moment].name), call \(moment): \(result)"
            let victim = try folder.read("victim")
            #expect(victim == Self.victim || isReplacing && put == .link && victim == Self.text, place)
            #expect(try !folder.names.contains("nowhere"), place)
            #expect(try folder.names.allSatisfy { !$0.hasPrefix(".vaultfile-") }, place)
            if case .failure(let error) = result {
                let code = try #require((error as? VaultError)?.code)
                #expect(code == .outputExists || isReplacing && code == .outputNotReplaceable, place)
                #expect(victim == Self.victim, place)
            } else if put == .file {
                // Replaced as a whole, or put there at the end.
                let found = try folder.read("out")
                #expect(found == Self.text || found == Self.victim, place)
            }
            moment += 1
        }
    }

    private static func put(_ put: Put, in folder: TemporaryFolder) throws {
        if try folder.names.contains("out") { try folder.remove("out") }
        switch put {
        case .link: try folder.makeLink("out", to: "victim")
        case .danglingLink: try folder.makeLink("out", to: "nowhere")
        case .file: try folder.write(victim, to: "out")
        }
    }
}
