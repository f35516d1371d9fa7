#if os(Linux)
import CPlatform
import SystemPackage
import VaultSystem

/// A process that unmounts a mount if this process is killed.
///
/// libfuse has such a process too (`auto_unmount`). It opens the mount with the rights of root to see whether its process
/// is gone. The kernel refuses that in a mount of another user, so it works for root only.
final class Unmounter: Sendable {
    private let child: ChildProcess
    /// A pipe to it. This process has both ends, so that writing to it sends no SIGPIPE if somebody has killed the child.
    private let input: FileDescriptor
    private let output: FileDescriptor

    /// It reads the number of the file system that is mounted, and waits for a second line, which tells it to do nothing.
    /// At the end of this process the pipe ends without one. It blocks no folder, and signals that end all processes of
    /// a terminal or of a service do not end it.
    ///
    /// Another file system may be at the place by then. It stays: what is there on top, which is the last of the table, must
    /// be a mount of this program and have the number. The table is asked and not the place: a system can refuse the
    /// status of a place, and of a mount whose process is dead it can be an error or be known still. Without a number,
    /// this process was killed while it mounted: a mount whose status is known is another one then.
    ///
    /// Its arguments are the place, the place as the table has it, and another table for a test.
    static let script = """
        trap '' HUP INT TERM; cd /; read -r number && read -r line && exit
        top=
        while read -r id parent device root place rest; do
            [ "$place" = "$2" ] || continue
            case " $rest" in *" - fuse.vaultfile "*) top=$device ;; *) top= ;; esac
        done <"${3:-/proc/self/mountinfo}"
        [ -n "$top" ] && [ "${number:-$top}" = "$top" ] || exit
        [ -z "$number" ] && stat -- "$1" >/dev/null 2>&1 && exit
        exec fusermount3 -u -q -z -- "$1"
        """

    /// Starts the process, before this one has a descriptor of the mount.
    ///
    /// - Parameter point: an absolute path.
    init(_ point: FilePath) throws(Errno) {
        var ends: [CInt] = [-1, -1]
        guard unsafe vaultfile_pipe(&ends) == 0 else { throw Errno(rawValue: vaultfile_error_number()) }
        input = FileDescriptor(rawValue: ends[0])
        output = FileDescriptor(rawValue: ends[1])
        do {
            let words = ["sh", "-c", Self.script, "vaultfile-unmount"].map { Array($0.utf8) }
            let places = [point.bytes, MountTable.escaped(point.bytes)]
            child = try ChildProcess(words + places, input: ends[0], isApart: true)
        } catch {
            try? input.close()
            try? output.close()
            throw error
        }
    }

    deinit {
        try? input.close()
        try? output.close()
    }

    /// Says what file system is mounted, by its number, if that is known. It is called once.
    func watch(_ number: [UInt8]?) {
        _ = try? output.writeAll((number ?? []) + [UInt8(ascii: "\n")])
    }

    /// Ends the process: there is nothing to unmount. It is called once.
    func dismiss() {
        _ = try? output.writeAll(Array("\n\n".utf8))
        _ = child.wait()
    }
}
#endif
