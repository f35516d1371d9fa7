import CPlatform
import SystemPackage
import Testing
import VaultSystem
import VaultTestSupport

@testable import VaultMount

/// The table of mounts, without a mount.
@Suite struct MountTableTests {
    private let text = """
        22 28 0:21 / /proc rw,nosuid shared:12 - proc proc rw
        90 28 0:50 / /home/a\\040b rw,nosuid - fuse.vaultfile vaultfile ro
        91 28 0:51 / /other rw shared:1 master:2 - fuse.gocryptfs x rw
        92 28 0:52 / /tail rw -
        93 28
        94 28 0:53 / /back\\134 rw shared:1 - fuse.vaultfile vaultfile ro
        95 28 0:54 / /twice rw - fuse.vaultfile vaultfile ro
        96 28 0:55 / /twice rw - tmpfs - rw
        97 28 0:56 / /again rw - tmpfs fuse.vaultfile rw
        98 28 0:57 / /again rw - fuse.vaultfile vaultfile ro

        """

    private func mounts(_ place: String) -> [MountTable.Mount] {
        MountTable.mounts(at: Array(place.utf8), in: Array(text.utf8))
    }

    @Test("a place, a number and a type are found, also with escaped blanks and optional fields") func table() {
        for (place, number, isOwn) in [
            ("/home/a b", "0:50", true), ("/proc", "0:21", false), ("/other", "0:51", false),
            ("/back\\", "0:53", true),
        ] {
            #expect(mounts(place) == [MountTable.Mount(number: Array(number.utf8), isOwn: isOwn)], "\(place)")
        }
        for place in ["/home/a\\040b", "/tail", "/home", ""] { #expect(mounts(place).isEmpty, "\(place)") }
        #expect(mounts("/twice").map(\.isOwn) == [true, false] && mounts("/again").map(\.isOwn) == [false, true])
        for (number, place) in [("0:50", "/home/a b"), ("0:53", "/back\\"), ("0:51", nil), ("0:5", nil)] {
            #expect(MountTable.place(of: Array(number.utf8), in: Array(text.utf8))?.description == place)
        }
        #expect(MountTable.escaped(Array("a b\tc\nd\\\u{e9}".utf8)) == Array("a\\040b\\011c\\012d\\134\u{e9}".utf8))
    }

    #if os(Linux)
    /// Whether the process that waits beside a mount unmounts it.
    ///
    /// - Parameter number: what it has learned before its pipe ended; nil for nothing.
    private func unmounts(_ place: String, number: String?) throws -> Bool {
        let folder = try TemporaryFolder()
        try folder.write(Array(text.utf8), to: "table")
        try folder.write(Array("#!/bin/sh\nprintf '%s\\n' \"$*\" >\"${0%/*}/called\"\n".utf8), to: "fusermount3")
        try folder.write(Array((number.map { "\($0)\n" } ?? "").utf8), to: "input")
        #expect(unsafe folder["fusermount3"].withPlatformString { unsafe chmod($0, 0o700) } == 0)
        let input = try FileDescriptor.open(folder["input"], .readOnly)
        try input.closeAfter {
            let words = ["env", "PATH=\(folder.path.string):/usr/bin:/bin", "sh", "-c", Unmounter.script, "name"]
            let places = [Array(place.utf8), MountTable.escaped(Array(place.utf8)), folder["table"].bytes]
            _ = try ChildProcess(words.map { Array($0.utf8) } + places, input: input.rawValue).wait()
        }
        guard let called = try? folder.read("called") else { return false }
        #expect(called == Array("-u -q -z -- \(place)\n".utf8))
        return true
    }

    @Test(
        "after a kill, a mount is unmounted that is on top and has the number, and no other one",
        arguments: [
            ("/home/a b", "0:50", true), ("/home/a b", "0:51", false), ("/back\\", "0:53", true),
            ("/twice", "0:54", false), ("/again", "0:57", true), ("/other", "0:51", false), ("/none", "0:50", false),
            // Killed before it could say the number. The places do not exist here, so their status is refused.
            ("/home/a b", nil, true), ("/none", nil, false), ("/home/a b", "", true), ("/home/a b", "0:50\n", false),
        ] as [(String, String?, Bool)])
    func killed(_ place: String, _ number: String?, _ isUnmounted: Bool) throws {
        #expect(try unmounts(place, number: number) == isUnmounted)
    }
    #endif
}
