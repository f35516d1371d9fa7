import Synchronization
import SystemPackage
import Testing
import VaultTestSupport

@testable import VaultFile

/// A change of a keyring that fails leaves no key on the disk: what it has written is overwritten before it is removed.
@Suite struct UnfinishedKeysTests {
    /// Whatever the change is about to give a name, it gets a second one, which shows what is left of it.
    ///
    /// - Parameter number: the number of the rename that fails.
    private func evidence(_ box: KeyringBox, failing number: Int, _ change: () throws -> Void) throws -> [UInt8]? {
        let folder = box.folder
        let renames = Mutex(0)
        let faults = Faults { call in
            guard call.name == "renameAt" else { return nil }
            let now = renames.withLock { count in
                count += 1
                return count
            }
            guard now == number else { return nil }
            let names = (try? folder.names) ?? []
            for name in names where name.hasPrefix(".vaultfile-") { try? folder.link(name, to: "evidence") }
            return Errno.ioError.rawValue
        }
        faults.during { try? change() }
        return try? folder.read("evidence")
    }

    @Test("the new keyring file of a change") func change() throws {
        let box = try KeyringBox(keys: ["one"])
        let left = try #require(try evidence(box, failing: 1) { try box.generate("two") })
        #expect(left.count > 500 && left.allSatisfy { $0 == 0 })
        #expect(try box.open().entries.map(\.name.description) == ["one"])
    }

    @Test("the new unlock file and the new keyring files of an exchange", arguments: 1...3)
    func exchange(_ number: Int) throws {
        let box = try KeyringBox(keys: ["one", "two"])
        let left = try #require(try evidence(box, failing: number) { _ = try box.destroy("one") })
        #expect(left.count > 500 && left.allSatisfy { $0 == 0 })
        // Whatever was kept from its end, it opens.
        #expect(try box.open().entries.count == 2)
    }
}
