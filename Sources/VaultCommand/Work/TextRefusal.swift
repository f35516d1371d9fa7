internal import VaultFile

extension TextCheck {
    private static let pieceLength: UInt64 = 1 << 20

    /// Refuses contents that are not text. Nothing has been shown yet.
    ///
    /// - Parameters:
    ///   - isPart: Whether the range is a part of a text.
    ///   - hint: What to do otherwise.
    static func refuse(
        unlessText range: Range<UInt64>, isPart: Bool, of reader: SeekableVaultReader, _ subject: Failure.Subject,
        hint: Hint = .forceShows
    ) throws {
        let range = range.clamped(to: 0..<reader.length)
        var check = TextCheck(isPart: isPart)
        var place = range.lowerBound
        while place < range.upperBound {
            let end = min(range.upperBound, place + pieceLength)
            guard check.take(try reader.bytes(place..<end)) else { throw refusal(subject, hint: hint) }
            place = end
        }
        if !check.isComplete { throw refusal(subject, hint: hint) }
    }

    /// The failure for what is not text.
    static func refusal(_ subject: Failure.Subject, hint: Hint) -> Failure {
        Failure(.usage, subject, "is not text, and standard output is a terminal", hint: hint)
    }
}
