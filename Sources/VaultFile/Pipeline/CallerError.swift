/// An error that a caller's closure threw. It ends the work, and says nothing about the container, whatever its code
/// is.
struct CallerError: Error {
    let error: any Error

    /// Runs a caller's closure where errors of the container are caught.
    static func marking(_ body: () throws -> Void) throws(CallerError) {
        do { try body() } catch { throw CallerError(error: error) }
    }
}
