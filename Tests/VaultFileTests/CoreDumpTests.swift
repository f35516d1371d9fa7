#if os(Linux) || os(macOS)
import CPlatform
import Testing
import VaultFile

@Suite struct CoreDumpTests {
    @Test("a process that forbids core dumps leaves none") func forbidden() async {
        await #expect(processExitsWith: .success) {
            #if os(Linux)
            guard vaultfile_may_dump() != 0 else { exit(1) }
            #endif
            guard Vault.forbidCoreDumps(), vaultfile_may_dump() == 0 else { exit(2) }
            exit(0)
        }
    }
}
#endif
