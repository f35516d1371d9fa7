import Glibc
import SystemPackage
import VaultStore

/// One measurement, in a process of its own. It prints the seconds.
///
///     speed WHAT FOLDER COUNT
///
/// `store-…` is done by VaultStore in the store FOLDER; `plain-…` is the same by the system's calls in the folder FOLDER.
@main enum Speed {
    static let size = 4096

    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let count = Int(arguments[3]) else {
            throw Failure(what: "usage: speed WHAT FOLDER COUNT")
        }
        let (what, folder) = (arguments[1], arguments[2])
        let seconds: Double
        if what.hasPrefix("store-") {
            seconds = try StoreWork(folder).measure(what, count)
        } else {
            seconds = try PlainWork(folder: folder).measure(what, count)
        }
        print(seconds)
    }

    static func time(_ body: () throws -> Void) rethrows -> Double {
        let start = ContinuousClock.now
        try body()
        return (ContinuousClock.now - start) / .seconds(1)
    }

    static func name(_ prefix: String, _ number: Int) -> String { "\(prefix)-\(number)" }

    /// Names of new items, which no other run has used.
    static func fresh() -> String { "new-\(getpid())-\(UInt32.random(in: 0...UInt32.max))" }

    /// The numbers in an order that is the same for all who are compared.
    static func shuffled(_ count: Int) -> [Int] {
        var (numbers, state) = (Array(0..<count), UInt64(1))
        for place in numbers.indices.dropFirst().reversed() {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            numbers.swapAt(place, Int(state >> 33) % (place + 1))
        }
        return numbers
    }
}

struct Failure: Error {
    let what: String
    let code = errno
}

/// The work by VaultStore.
struct StoreWork {
    let folder: FilePath
    let device: SymmetricKey
    let owner: SymmetricKey
    let content = [UInt8](repeating: 7, count: Speed.size)

    init(_ folder: String) throws {
        self.folder = FilePath(folder)
        // The same in each process. A passphrase would be stretched.
        device = try SymmetricKey(bytes: [UInt8](repeating: 1, count: 32).span)
        owner = try SymmetricKey(bytes: [UInt8](repeating: 2, count: 32).span)
    }

    func open() throws -> VaultStore {
        let store = try VaultStore.open(at: folder, device: device)
        try store.unlock(with: KeySet(keys: [owner]))
        return store
    }

    func measure(_ what: String, _ count: Int) throws -> Double {
        if what == "store-create" {
            return try Speed.time { _ = try VaultStore.create(at: folder, device: device, unlockers: [.key(owner)]) }
        }
        let store = try open()
        switch what {
        case "store-fill":
            return try Speed.time {
                try store.batch { batch in
                    for number in 0..<count {
                        try batch.write(Speed.name("item", number), content.span, protection: .complete)
                    }
                }
            }
        case "store-put":
            let name = Speed.fresh()
            return try Speed.time {
                for number in 0..<count {
                    try store.write(Speed.name(name, number), content.span, protection: .complete)
                }
            }
        case "store-batch":
            let name = Speed.fresh()
            return try Speed.time {
                try store.batch { batch in
                    for number in 0..<count {
                        try batch.write(Speed.name(name, number), content.span, protection: .complete)
                    }
                }
            }
        case "store-get":
            let numbers = Speed.shuffled(count)
            return try Speed.time {
                for number in numbers {
                    guard try store.read(Speed.name("item", number), atMost: Speed.size).count == Speed.size else {
                        throw Failure(what: "an item is too short")
                    }
                }
            }
        case "store-list":
            return try Speed.time {
                guard try store.list().items.count >= count else { throw Failure(what: "items are missing") }
            }
        case "store-check":
            return try Speed.time {
                guard try store.check().intact >= count else { throw Failure(what: "items are missing") }
            }
        case "store-lock": return try lock(store, 0, count)
        default: throw Failure(what: what)
        }
    }

    /// Locks while this many readers are open.
    private func lock(_ store: VaultStore, _ number: Int, _ count: Int) throws -> Double {
        guard number < count else { return Speed.time { store.lock() } }
        return try store.withReader(Speed.name("item", number)) { _ in try lock(store, number + 1, count) }
    }
}

/// The same work by calls of the system.
struct PlainWork {
    let folder: String
    let content = [UInt8](repeating: 7, count: Speed.size)

    func measure(_ what: String, _ count: Int) throws -> Double {
        let place = open(folder, O_RDONLY | O_DIRECTORY)
        try require(place >= 0)
        switch what {
        case "plain-fill", "plain-batch":
            let name = what == "plain-fill" ? "item" : Speed.fresh()
            return try Speed.time {
                // As a store does it: 128 files are written, then synced, then named.
                for start in stride(from: 0, to: count, by: 128) {
                    let numbers = start..<min(start + 128, count)
                    let files = try numbers.map { try written(Speed.name("\(name).new", $0), place) }
                    for file in files { try require(fsync(file) == 0) }
                    for (number, file) in zip(numbers, files) {
                        try named(Speed.name(name, number), file, from: Speed.name("\(name).new", number), place)
                    }
                    try require(fsync(place) == 0)
                }
            }
        case "plain-put":
            let name = Speed.fresh()
            return try Speed.time {
                for number in 0..<count {
                    let file = try written(Speed.name("\(name).new", number), place)
                    try require(fsync(file) == 0)
                    try named(Speed.name(name, number), file, from: Speed.name("\(name).new", number), place)
                    try require(fsync(place) == 0)
                }
            }
        case "plain-get":
            let numbers = Speed.shuffled(count)
            var buffer = [UInt8](repeating: 0, count: Speed.size + 1)
            return try Speed.time {
                for number in numbers {
                    let file = openat(place, Speed.name("item", number), O_RDONLY)
                    try require(file >= 0)
                    var status = stat()
                    try require(fstat(file, &status) == 0)
                    try require(pread(file, &buffer, buffer.count, 0) == Speed.size)
                    close(file)
                }
            }
        case "plain-list":
            return try Speed.time {
                // Names and lengths, as a list of a store gives them.
                guard let entries = fdopendir(dup(place)) else { throw Failure(what: "fdopendir") }
                var names: [String] = []
                while let entry = readdir(entries) {
                    let name = withUnsafePointer(to: &entry.pointee.d_name) {
                        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                    }
                    var status = stat()
                    try require(fstatat(place, name, &status, 0) == 0)
                    names.append(name)
                }
                closedir(entries)
                names.sort()
                try require(names.count >= count + 2)
            }
        default: throw Failure(what: what)
        }
    }

    private func require(_ holds: Bool, line: Int = #line) throws {
        guard holds else { throw Failure(what: "line \(line)") }
    }

    /// A new file with the content. It has a name of its own: a file without one (`O_TMPFILE`) is not possible in a file
    /// system of FUSE.
    private func written(_ name: String, _ place: Int32) throws -> Int32 {
        let file = openat(place, name, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        try require(file >= 0)
        try require(write(file, content, content.count) == content.count)
        return file
    }

    private func named(_ name: String, _ file: Int32, from temporary: String, _ place: Int32) throws {
        try require(renameat(place, temporary, place, name) == 0)
        close(file)
    }
}
