/// Values that were used last, at most `limit` of them.
struct RecentlyUsed<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let limit: Int
    private var values: [Key: (value: Value, time: UInt64)] = [:]
    private var time: UInt64 = 0

    init(limit: Int) {
        precondition(limit > 1, "half of the values stay")
        self.limit = limit
    }

    var count: Int { values.count }

    subscript(key: Key) -> Value? {
        mutating get {
            guard let value = values[key]?.value else { return nil }
            time += 1
            values[key]?.time = time
            return value
        }
        set {
            time += 1
            values[key] = newValue.map { ($0, time) }
            guard values.count > limit else { return }
            // Half of them go at once, so that a sort is paid for by many new values.
            let times = values.values.map(\.time).sorted()
            let first = times[times.count / 2]
            values = values.filter { $0.value.time >= first }
        }
    }
}
