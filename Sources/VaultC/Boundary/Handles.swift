import Synchronization

/// What C programs hold. A handle is a number that is never used twice, and not the address of anything. So a handle that
/// was freed, or is of another type, gives an error. An address would make the program read memory that is not its own.
enum Handles {
    private struct Table {
        var next: UInt = 1
        var objects: [UInt: any AnyObject & Sendable] = [:]
    }

    private static let table = Mutex(Table())

    /// How many objects C programs hold.
    static var count: Int { table.withLock { $0.objects.count } }

    /// Gives an object a handle, which keeps it alive.
    static func insert(_ object: any AnyObject & Sendable) -> OpaquePointer? {
        unsafe table.withLock { table in
            // Not aligned: a program that takes a handle for an address fails at once.
            let number = table.next
            table.next += 2
            table.objects[number] = object
            return unsafe OpaquePointer(bitPattern: number)
        }
    }

    /// The object of a handle.
    ///
    /// - Throws: `Failure` with `invalidArgument` if the handle is null, was freed or is of another type.
    static func object<T: AnyObject>(_ handle: OpaquePointer?, _ type: T.Type = T.self) throws(Failure) -> T {
        guard let handle = unsafe handle else { throw .invalid("a handle is NULL") }
        let number = UInt(bitPattern: handle)
        guard let object = table.withLock({ $0.objects[number] }) else {
            throw .invalid("a handle is none, or was freed")
        }
        guard let object = object as? T else { throw .invalid("a handle is of another type") }
        return object
    }

    /// The object of a handle, or nil for none.
    ///
    /// - Throws: `Failure` with `invalidArgument` if the handle was freed or is of another type.
    static func objectIfAny<T: AnyObject>(_ handle: OpaquePointer?, _ type: T.Type = T.self) throws(Failure) -> T? {
        guard unsafe handle != nil else { return nil }
        return try unsafe object(handle)
    }

    /// Releases what a handle keeps alive, if it is of this type. The object goes outside of the lock: it may free much.
    static func free<T: AnyObject>(_ handle: OpaquePointer?, _ type: T.Type) {
        guard let handle = unsafe handle else { return }
        let number = UInt(bitPattern: handle)
        _ = table.withLock { table in
            table.objects[number] is T ? table.objects.removeValue(forKey: number) : nil
        }
    }
}

/// Runs a call, and gives its error a handle.
///
/// - Returns: nil, or the handle of the error.
func calling(_ body: () throws -> Void) -> OpaquePointer? {
    do {
        try body()
        return nil
    } catch {
        return unsafe Handles.insert(ErrorValue(error))
    }
}

/// Runs a call that makes an object.
///
/// - Parameters:
///   - place: gets the handle of the object, or NULL after an error.
///   - make: makes the object.
func making(
    _ place: UnsafeMutablePointer<OpaquePointer?>?, _ make: () throws -> any AnyObject & Sendable
) -> OpaquePointer? {
    unsafe calling {
        guard let place = unsafe place else { throw Failure.invalid("there is no place for the result") }
        unsafe place.pointee = nil
        let object = try make()
        unsafe place.pointee = Handles.insert(object)
    }
}

/// Runs a call whose report the caller may not want.
///
/// - Parameters:
///   - place: gets the handle of the report; may be NULL.
///   - make: makes the report.
func reporting(_ place: UnsafeMutablePointer<OpaquePointer?>?, _ make: () throws -> JSON) -> OpaquePointer? {
    unsafe calling {
        if let place = unsafe place { unsafe place.pointee = nil }
        let report = try make()
        guard let place = unsafe place else { return }
        unsafe place.pointee = try report.handle
    }
}

extension JSON {
    /// The handle of a report.
    var handle: OpaquePointer? {
        get throws(Failure) {
            let bytes = [UInt8](text.utf8)
            return unsafe Handles.insert(try DataValue(bytes.span))
        }
    }
}

/// Runs a call that counts what it writes.
///
/// - Parameters:
///   - place: gets the count, or 0 after an error.
///   - body: returns the count.
func counting(_ place: UnsafeMutablePointer<UInt>?, _ body: () throws -> Int) -> OpaquePointer? {
    unsafe calling {
        guard let place = unsafe place else { throw Failure.invalid("there is no place for the count") }
        unsafe place.pointee = 0
        unsafe place.pointee = UInt(try body())
    }
}
