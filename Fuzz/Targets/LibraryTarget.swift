#if canImport(VaultC)
import VaultC

/// A program that calls the C library in any order, with any handles, pieces of memory and numbers. Each call must give
/// an error or a result, write only into the memory that it was given, and leave nothing behind.
enum LibraryTarget: FuzzTarget {
    static let name = "library"

    static func run(_ input: [UInt8]) throws {
        let before = handleCount()
        var program = try Caller(input)
        try program.run()
        program.freeAll()
        try require(handleCount() == before, "\(handleCount() - before) handles are left")
    }
}

/// The state of a program of C.
@safe private struct Caller {
    private static let key = [UInt8](repeating: 7, count: 32)
    private static let kinds: [@Sendable (OpaquePointer?) -> Void] = unsafe [
        errorFree, dataFree, optionsFree, keysFree, recipientsFree, readerFree, encryptorFree, decryptorFree,
        keyringFree, changeFree, writerFree,
    ]
    private static let mostSteps = 64

    private var rest: ArraySlice<UInt8>
    private var handles: [OpaquePointer?] = unsafe [nil]
    private var container: [UInt8] = []
    /// Another container with its slots in this header file.
    private var body: [UInt8] = []
    private var header: [UInt8] = []

    init(_ input: [UInt8]) throws {
        rest = input[...]
        let recipients = unsafe try made { unsafe recipientsNew(&$0) }
        unsafe try expectNone(unsafe recipientsAddKey(recipients, Self.key, 32))
        let plain = (0..<5000).map { UInt8(truncatingIfNeeded: $0 >> 3) }
        let sealed = unsafe try made { unsafe VaultC.encrypt(plain, 5000, recipients, nil, &$0) }
        container = try unsafe bytes(of: sealed)
        let keys = unsafe try made { unsafe keysNew(&$0) }
        unsafe try expectNone(unsafe keysAddKey(keys, Self.key, 32))
        var headerFile: OpaquePointer?
        let apart = unsafe try made { unsafe encryptDetached(plain, 5000, recipients, nil, &headerFile, &$0) }
        body = try unsafe bytes(of: apart)
        header = try unsafe bytes(of: headerFile)
        unsafe handles += [recipients, keys, sealed, apart, headerFile]
    }

    mutating func run() throws {
        var steps = 0
        while let step = rest.popFirst(), steps < Self.mostSteps {
            steps += 1
            try self.step(step)
        }
    }

    mutating func freeAll() {
        for index in unsafe handles.indices {
            unsafe Self.kinds.indices.forEach { unsafe Self.kinds[$0](handles[index]) }
        }
    }

    private mutating func step(_ step: UInt8) throws {
        switch step % 32 {
        case 0: unsafe try keep { unsafe optionsNew(&$0) }
        case 1:
            let value = Int64(bitPattern: number()) >> Int64(byte() & 63)
            unsafe try check(unsafe optionsSetNumber(handle(), Int32(byte()), value))
        case 2: unsafe try check(unsafe optionsSetBytes(handle(), Int32(byte() % 6), piece(), UInt(last)))
        case 3: unsafe try keep { unsafe keysNew(&$0) }
        case 4: unsafe try check(unsafe keysAddKey(handle(), piece(), UInt(last)))
        case 5: unsafe try check(unsafe keysAddIdentities(handle(), piece(), UInt(last)))
        case 6: unsafe try keep { unsafe recipientsNew(&$0) }
        case 7: unsafe try check(unsafe recipientsAddKey(handle(), Self.key, 32))
        case 8: unsafe try check(unsafe recipientsAddPublicKeys(handle(), piece(), UInt(last), byte() & 1 == 0))
        case 9:
            let changed = changed(byte() & 1 == 0 ? container : body)
            let (keys, options) = unsafe (handle(), handle())
            unsafe try keep { unsafe readerOpenMemory(changed, UInt(changed.count), keys, options, &$0) }
        case 10:
            let (reader, offset) = unsafe (handle(), number() >> UInt64(byte() & 63))
            unsafe try output { buffer, capacity, _ in unsafe readerRead(reader, offset, buffer, capacity) }
        case 11: unsafe try report { unsafe readerInfo($0, &$1) }
        case 12: unsafe try report { unsafe readerDamage($0, nil, &$1) }
        case 13:
            let text = piece()
            unsafe try keep { unsafe inspectMemory(text, UInt(text.count), &$0) }
        case 14:
            let (text, recipients, options) = unsafe (piece(), handle(), handle())
            unsafe try keep { unsafe VaultC.encrypt(text, UInt(text.count), recipients, options, &$0) }
        case 15:
            let (keys, options) = unsafe (handle(), handle())
            let given = byte() & 1 == 0 ? container : piece()
            unsafe try keep { unsafe VaultC.decrypt(given, UInt(given.count), keys, options, &$0) }
        case 16:
            let (recipients, options) = unsafe (handle(), handle())
            unsafe try keep { unsafe encryptorNew(recipients, options, &$0) }
        case 17:
            let (encryptor, text) = unsafe (handle(), piece())
            unsafe try output { unsafe encryptorUpdate(encryptor, text, UInt(text.count), $0, $1, $2) }
        case 18: unsafe try check(unsafe byte() & 1 == 0 ? encryptorFinish(handle()) : decryptorFinish(handle()))
        case 19:
            let (keys, options) = unsafe (handle(), handle())
            unsafe try keep { unsafe decryptorNew(keys, options, &$0) }
        case 20:
            let decryptor = unsafe handle()
            let start = Int(number() % UInt64(container.count))
            let text = [UInt8](container[start...].prefix(Int(byte()) * 32))
            unsafe try output { unsafe decryptorUpdate(decryptor, text, UInt(text.count), $0, $1, $2) }
        case 21: unsafe Self.kinds[Int(byte()) % Self.kinds.count](handle())
        case 22: _ = try unsafe bytes(of: handle())
        case 23: unsafe try output { unsafe keyFile(Self.key, 32, $0, $1, $2) }
        case 24:
            let text = piece()
            unsafe try keep { unsafe identityRecipients(text, UInt(text.count), &$0) }
        case 25:
            let given = changed(header)
            unsafe try check(unsafe optionsSetBytes(handle(), 6, given, UInt(given.count)))
        case 26:
            let given = byte() & 1 == 0 ? changed(header) : piece()
            unsafe try keep { unsafe inspectHeader(given, UInt(given.count), &$0) }
        case 27:
            let (given, keys, options) = unsafe (changed(header), handle(), handle())
            unsafe try keep { unsafe verifyHeader(given, UInt(given.count), keys, options, &$0) }
        case 28:
            let (given, adding, removing) = unsafe (changed(header), handle(), handle())
            let (keys, options) = unsafe (handle(), handle())
            unsafe try keepTwo {
                unsafe rotateHeader(given, UInt(given.count), adding, removing, keys, options, &$0, &$1)
            }
        case 29:
            let (text, recipients, options) = unsafe (piece(), handle(), handle())
            unsafe try keepTwo { unsafe encryptDetached(text, UInt(text.count), recipients, options, &$0, &$1) }
        case 30:
            let (recipients, options) = unsafe (handle(), handle())
            unsafe try keepTwo { unsafe encryptorNewDetached(recipients, options, &$0, &$1) }
        default:
            unsafe try keep { unsafe changeNew(&$0) }
            unsafe try check(unsafe changeAddRecipient(handle(), "name", piece(), UInt(last)))
        }
    }

    // MARK: What the input gives

    /// The length of the last piece, or any other if its pointer is NULL for that.
    private var last = 0

    private mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    private mutating func number() -> UInt64 { (0..<8).reduce(0) { value, _ in value << 8 | UInt64(byte()) } }

    private mutating func changed(_ bytes: [UInt8]) -> [UInt8] {
        var changed = bytes
        for _ in 0..<byte() % 3 { changed[Int(number() % UInt64(changed.count))] ^= byte() }
        return changed
    }

    private mutating func piece() -> [UInt8] {
        let piece = [UInt8](rest.prefix(Int(byte())))
        rest = rest.dropFirst(piece.count)
        last = piece.count
        return piece
    }

    /// One of the handles that are known, freed or not, or any number.
    private mutating func handle() -> OpaquePointer? {
        let choice = byte()
        guard choice < 250 else { return unsafe OpaquePointer(bitPattern: UInt(truncatingIfNeeded: number())) }
        return unsafe handles[Int(choice) % handles.count]
    }

    // MARK: What the calls give

    private mutating func keep(_ call: (inout OpaquePointer?) -> OpaquePointer?) throws {
        var result: OpaquePointer?
        let error = unsafe call(&result)
        try require(unsafe (error == nil) != (result == nil), "there is an error and a result, or neither")
        unsafe handles.append(result)
        unsafe try check(error)
    }

    /// A call with two results: both or none.
    private mutating func keepTwo(
        _ call: (inout OpaquePointer?, inout OpaquePointer?) -> OpaquePointer?
    ) throws {
        var first: OpaquePointer?
        unsafe try keep { second in
            let error = unsafe call(&first, &second)
            return unsafe error
        }
        let second = unsafe handles[handles.count - 1]
        try require(unsafe (first == nil) == (second == nil), "there is one result of two")
        unsafe handles.append(first)
    }

    private mutating func report(_ call: (OpaquePointer?, inout OpaquePointer?) -> OpaquePointer?) throws {
        let subject = unsafe handle()
        unsafe try keep { unsafe call(subject, &$0) }
    }

    /// Lends memory with a wall after it.
    private mutating func output(
        _ call: (UnsafeMutableRawPointer?, UInt, UnsafeMutablePointer<UInt>?) -> OpaquePointer?
    ) throws {
        let capacity = Int(byte()) * 40
        var memory = [UInt8](repeating: 0xA5, count: capacity + 64)
        var count: UInt = 0
        unsafe try check(unsafe memory.withUnsafeMutableBytes { unsafe call($0.baseAddress, UInt(capacity), &count) })
        try require(count <= UInt(capacity), "it has written \(count) bytes of \(capacity)")
        try require(memory[capacity...].allSatisfy { $0 == 0xA5 }, "it has written behind its memory")
    }

    /// An error has a name, a message and a number.
    private func check(_ error: OpaquePointer?) throws {
        guard let error = unsafe error else { return }
        defer { unsafe errorFree(error) }
        try require(
            unsafe errorStatus(error) > 0 && errorName(error)?.pointee != 0 && errorMessage(error)?.pointee != 0,
            "an error says nothing")
    }

    private func expectNone(_ error: OpaquePointer?) throws {
        try require(unsafe error == nil, "a right call gives an error")
    }

    private func made(_ call: (inout OpaquePointer?) -> OpaquePointer?) throws -> OpaquePointer? {
        var result: OpaquePointer?
        unsafe try expectNone(unsafe call(&result))
        return unsafe result
    }

    private func bytes(of data: OpaquePointer?) throws -> [UInt8] {
        let count = unsafe Int(dataCount(data))
        guard let start = unsafe dataBytes(data) else { return [] }
        try require(unsafe start.load(fromByteOffset: count, as: UInt8.self) == 0, "no zero follows the bytes")
        return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }
}
#else

/// Before Swift 6.3 there is no C library.
enum LibraryTarget: FuzzTarget {
    static let name = "library"

    static func run(_ input: [UInt8]) {}
}
#endif
