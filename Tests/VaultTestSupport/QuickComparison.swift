#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

// The tests are not optimised. The standard library's comparison would call a function for each byte there, and they
// compare gigabytes.

extension [UInt8] {
    package static func == (left: Self, right: Self) -> Bool { left[...] == right[...] }
    package static func != (left: Self, right: Self) -> Bool { !(left == right) }
    package func starts(with prefix: Self) -> Bool { self.prefix(prefix.count) == prefix[...] }
}

extension ArraySlice<UInt8> {
    package static func == (left: Self, right: Self) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe left.withUnsafeBytes { left in
            unsafe right.withUnsafeBytes { right in
                guard let first = left.baseAddress, let second = right.baseAddress else { return true }
                return unsafe memcmp(first, second, left.count) == 0
            }
        }
    }
}
