/// One range of an HTTP `Range` header (RFC 9110, 14.1.2). More than one is not supported, which the RFC allows.
struct ByteRange: Equatable {
    enum Bound: Equatable {
        case from(UInt64, through: UInt64?)
        case last(UInt64)
    }

    let bound: Bound

    /// Nil for what is no single range of bytes.
    init?(_ header: String) {
        guard header.hasPrefix("bytes=") else { return nil }
        let ends = header.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        switch (UInt64(ends[0]), UInt64(ends[1])) {
        case (let start?, let end?) where start <= end: bound = .from(start, through: end)
        case (let start?, nil) where ends[1].isEmpty: bound = .from(start, through: nil)
        case (nil, let count?) where ends[0].isEmpty: bound = .last(count)
        default: return nil
        }
    }

    /// The bytes that it means; nil if none of them exists.
    func within(_ length: UInt64) -> Range<UInt64>? {
        switch bound {
        case .from(let start, let end):
            guard start < length else { return nil }
            return start..<min(end ?? .max, length - 1) + 1
        case .last(let count):
            guard count > 0, length > 0 else { return nil }
            return length - min(count, length)..<length
        }
    }
}
