import Testing

@testable import VaultMount

/// The table of mounts, without a mount.
@Suite struct MountTableTests {
    @Test("a place and a type are found, also with escaped blanks and optional fields") func table() {
        let text = """
            22 28 0:21 / /proc rw,nosuid shared:12 - proc proc rw
            90 28 0:50 / /home/a\\040b rw,nosuid - fuse.vaultfile vaultfile ro
            91 28 0:51 / /other rw shared:1 master:2 - fuse.gocryptfs x rw
            92 28 0:52 / /tail rw -
            93 28
            94 28 0:53 / /back\\134 rw shared:1 - fuse.vaultfile vaultfile ro
            """
        for (place, isThere) in [
            ("/home/a b", true), ("/home/a\\040b", false), ("/proc", false), ("/other", false), ("/tail", false),
            ("/home", false), ("", false), ("/back\\", true),
        ] {
            #expect(MountTable.hasOwnMount(at: Array(place.utf8), in: Array(text.utf8)) == isThere, "\(place)")
        }
    }
}
