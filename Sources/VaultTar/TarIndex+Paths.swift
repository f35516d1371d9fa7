extension TarIndex {
    /// How many entries of the stream have no path that TAR-1 allows: an absolute one, one with `..`, or one that is
    /// too long. No index leads to them. If the index has not every entry (`stepExponent` above 0), these are only those
    /// that it shows.
    ///
    /// The folder itself, which `tar -c .` puts first as `./`, is not counted. The index does not have its name, so one entry
    /// alone is taken for it that has no content and comes first.
    public var pathlessCount: UInt64 {
        let step = UInt64(1) << UInt64(stepExponent)
        let due = (UInt64(streamCount) + step - 1) / step
        let missing = due - min(due, UInt64(count))
        var first: Entry?
        forEach { entry in
            first = entry
            return false
        }
        // The next entry begins one block later, or three with a pax header.
        let isFolder = first.map { [1, 3].contains($0.place) || step > 1 && $0.place > 0 } ?? false
        return missing == 1 && isFolder ? 0 : missing
    }
}
