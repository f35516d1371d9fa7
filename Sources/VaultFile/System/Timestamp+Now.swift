public import VaultFormat

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension Timestamp {
    /// Now, by the system's clock, to the second.
    public static var now: Timestamp {
        Timestamp(seconds: Int64(time(nil)))
    }
}
