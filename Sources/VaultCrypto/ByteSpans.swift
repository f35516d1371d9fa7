extension [UInt8] {
    /// Appends the bytes of a span.
    package mutating func append(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    /// Overwrites the bytes from `offset` on. `bytes` must fit after `offset`.
    package mutating func replace(at offset: Int, with bytes: Span<UInt8>) {
        var all = mutableSpan
        all.replace(at: offset, with: bytes)
    }

    /// Calls `body` with a mutable span of a part of the bytes.
    package mutating func withMutableSpan<R, E>(
        of range: Range<Int>, _ body: (inout MutableSpan<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        var all = mutableSpan
        return try all.withPart(range, body)
    }
}

extension Span<UInt8> {
    /// Whether the span begins with these bytes. Nothing is copied.
    package func begins(with beginning: [UInt8]) -> Bool {
        beginning.count <= count && beginning.indices.allSatisfy { beginning[$0] == self[$0] }
    }
}

extension Hasher {
    /// Feeds bytes at once, and not one by one as the hash of an array does.
    package mutating func combine(bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

extension MutableSpan<UInt8> {
    /// Calls `body` with a mutable span of a part of the bytes.
    package mutating func withPart<R, E>(
        _ range: Range<Int>, _ body: (inout MutableSpan<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        return try unsafe withUnsafeMutableBufferPointer { all throws(E) in
            var part = unsafe MutableSpan(_unsafeElements: UnsafeMutableBufferPointer(rebasing: all[range]))
            return try body(&part)
        }
    }

    /// Fills the bytes, however many reads that takes: one read may give fewer bytes than there are.
    ///
    /// - Parameter read: reads into the rest of the bytes; it also gets the count of bytes that are filled. It returns
    ///   how many bytes it read, 0 only at the end.
    /// - Returns: the count of bytes that were read: fewer than there is room for only at the end.
    package mutating func fill<E>(
        _ read: (_ filled: Int, _ rest: inout MutableSpan<UInt8>) throws(E) -> Int
    ) throws(E) -> Int {
        var filled = 0
        while filled < count {
            let more = try withPart(filled..<count) { rest throws(E) in try read(filled, &rest) }
            guard more > 0 else { break }
            filled += more
        }
        return filled
    }

    /// Overwrites the bytes from `offset` on. `bytes` must fit after `offset`.
    package mutating func replace(at offset: Int, with bytes: Span<UInt8>) {
        precondition(offset >= 0 && bytes.count <= count - offset)
        unsafe withUnsafeMutableBufferPointer { target in
            unsafe bytes.withUnsafeBufferPointer { source in
                guard let from = source.baseAddress, let to = target.baseAddress else { return }
                unsafe (to + offset).update(from: from, count: source.count)
            }
        }
    }
}
