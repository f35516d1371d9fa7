import Synchronization

/// An input of a benchmark that is made once, when the first iteration asks for it.
final class Prepared<Value: Sendable>: Sendable {
    private let make: @Sendable () throws -> Value
    private let made = Mutex<Value?>(nil)

    init(_ make: @escaping @Sendable () throws -> Value) {
        self.make = make
    }

    func value() throws -> Value {
        try made.withLock { made in
            if let made { return made }
            let value = try make()
            made = value
            return value
        }
    }

    /// Releases the input.
    func discard() {
        made.withLock { $0 = nil }
    }
}
