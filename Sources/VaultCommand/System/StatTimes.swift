internal import SystemPackage
internal import VaultFile

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

extension Stat {
    /// When the contents changed last.
    var modified: Timestamp? { Self.timestamp(st_mtim) }

    /// When anything of the file changed last, which no program can set.
    var changed: Timestamp? { Self.timestamp(st_ctim) }

    private static func timestamp(_ time: timespec) -> Timestamp? {
        Timestamp(seconds: Int64(time.tv_sec), nanoseconds: UInt32(truncatingIfNeeded: time.tv_nsec))
    }
}
