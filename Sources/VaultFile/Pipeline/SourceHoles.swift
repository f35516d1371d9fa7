import VaultFormat

/// The holes of a sparse file that is read in order. Bytes in a hole are zeros, and need not be read.
struct SourceHoles {
    /// The hole that was found last, and the end of the data after it.
    private var hole: Range<UInt64> = 0..<0
    private var dataEnd: UInt64 = 0

    /// A file that changed this short a time ago is read as a whole, in seconds. OpenZFS before 2.2.2 reported bytes as
    /// a hole that had just been written: they would be encrypted as zeros.
    static let leastAge: Int64 = 60

    /// Whether all bytes of a range are in a hole. Each range begins after the one before it.
    ///
    /// - Parameter end: the end of the file.
    mutating func contain(_ range: Range<UInt64>, of input: PipelineInput, endingAt end: UInt64) -> Bool {
        guard range.lowerBound >= dataEnd || hole.contains(range.lowerBound) else { return false }
        if !hole.contains(range.lowerBound) {
            (hole, dataEnd) = input.nextHole(from: range.lowerBound, endingAt: end)
        }
        return range.upperBound <= hole.upperBound && !hole.isEmpty
    }
}

extension PipelineInput {
    /// The hole that begins at `offset`, which may be empty, and the end of the data after it.
    fileprivate func nextHole(from offset: UInt64, endingAt end: UInt64) -> (hole: Range<UInt64>, dataEnd: UInt64) {
        do {
            guard let data = try nextData(from: offset) else { return (offset..<max(offset, end), end) }
            return (offset..<max(offset, data), try self.hole(from: data))
        } catch {
            // The file system cannot tell: everything is read.
            return (offset..<offset, .max)
        }
    }
}
