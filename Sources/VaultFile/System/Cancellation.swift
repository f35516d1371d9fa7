import Synchronization
import SystemPackage
import VaultFormat

/// Tells a call that runs on the library's threads that its task was cancelled.
///
/// A thread cannot be interrupted, so long work checks for it: a pipeline before each piece, and a wait for a pipe ten
/// times a second.
final class Cancellation: Sendable {
    /// The value for the call that this thread works for; nil for a synchronous call.
    @TaskLocal static var current: Cancellation?

    /// How long a wait lasts before it checks again, in milliseconds.
    static let patience: Int32 = 100

    private let isSet = Atomic(false)

    var isCancelled: Bool { isSet.load(ordering: .relaxed) }

    func cancel() {
        isSet.store(true, ordering: .relaxed)
    }

    /// - Throws: an error with the code `cancelled`, which the asynchronous call turns into a `CancellationError`.
    func check() throws(VaultError) {
        if isCancelled { throw VaultError(.cancelled, "the task was cancelled") }
    }

    static func check() throws(VaultError) {
        try current?.check()
    }
}
