/// The form of paths of components with one `/` between any two (Spec, chapters 24 and 26).
package enum PathForm {
    /// Whether no component is empty, `.` or `..`.
    package static func hasLegalComponents(_ bytes: [UInt8]) -> Bool {
        // The length of a component, and how many of its bytes are dots.
        var (count, dots) = (0, 0)
        for byte in bytes {
            if byte == UInt8(ascii: "/") {
                guard count > 2 || dots < count else { return false }
                (count, dots) = (0, 0)
            } else {
                count += 1
                if byte == UInt8(ascii: ".") { dots += 1 }
            }
        }
        return count > 2 || dots < count
    }
}
