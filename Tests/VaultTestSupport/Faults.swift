internal import CPlatform
import Synchronization
import SystemPackage
package import VaultFile

/// Counts the system calls that go through the seam, and makes some of them fail.
package final class Faults: Sendable {
    /// One call: its name and its number, from 0 on.
    package struct Call: Hashable, Sendable {
        package let name: String
        package let number: Int
    }

    private let error: @Sendable (Call) -> Int32?
    private let made = Mutex<[Call]>([])
    private let open = Mutex<Set<Int32>>([])
    private let countsLooks: Bool

    /// - Parameters:
    ///   - countsLooks: Whether calls that only ask about a file count and may fail too.
    ///   - error: Called before each call. Returns the `errno` with which the call fails; nil lets it through.
    package init(countsLooks: Bool = false, _ error: @escaping @Sendable (Call) -> Int32?) {
        self.countsLooks = countsLooks
        self.error = error
    }

    /// The calls that were made, including those that failed.
    package var calls: [Call] { made.withLock { $0 } }

    /// The descriptors that were opened and not closed. If an operation has ended and one is left, then each failure
    /// costs a server a descriptor, until it has none.
    package var leftOpen: Set<Int32> { open.withLock { $0 } }

    private func fails(_ name: String) -> Bool {
        let call = made.withLock { made in
            let call = Call(name: name, number: made.count)
            made.append(call)
            return call
        }
        guard let number = error(call) else { return false }
        vaultfile_set_error_number(number)
        return true
    }

    /// Runs `body` with these faults.
    package func during<R>(_ body: () throws -> R) rethrows -> R {
        try SystemCalls.$current.withValue(systemCalls, operation: body)
    }

    private var systemCalls: SystemCalls {
        let real = SystemCalls.current
        var calls = real
        unsafe calls.read = { self.fails("read") ? -1 : unsafe real.read($0, $1) }
        unsafe calls.readAt = { self.fails("readAt") ? -1 : unsafe real.readAt($0, $1, $2) }
        unsafe calls.write = { self.fails("write") ? -1 : unsafe real.write($0, $1) }
        unsafe calls.writeAt = { self.fails("writeAt") ? -1 : unsafe real.writeAt($0, $1, $2) }
        unsafe calls.writePartsAt = { self.fails("writePartsAt") ? -1 : unsafe real.writePartsAt($0, $1, $2, $3) }
        calls.truncate = { self.fails("truncate") ? -1 : real.truncate($0, $1) }
        calls.setOwner = { self.fails("setOwner") ? -1 : real.setOwner($0, $1, $2) }
        calls.sync = { self.fails("sync") ? -1 : real.sync($0) }
        calls.lock = { self.fails("lock") ? -1 : real.lock($0, $1) }
        calls.setPermissions = { self.fails("setPermissions") ? -1 : real.setPermissions($0, $1) }
        calls.setModified = { self.fails("setModified") ? -1 : real.setModified($0, $1) }
        calls.wait = { self.fails("wait") ? -1 : real.wait($0, $1, $2) }
        calls.openAt = {
            guard !self.fails($2 & Self.nameless == 0 ? "openAt" : "openNameless") else { return -1 }
            let file = real.openAt($0, $1, $2, $3)
            if file >= 0 { self.open.withLock { _ = $0.insert(file) } }
            return file
        }
        calls.close = { file in
            self.open.withLock { _ = $0.remove(file) }
            return real.close(file)
        }
        calls.linkAt = { self.fails("linkAt") ? -1 : real.linkAt($0, $1, $2, $3, $4) }
        calls.renameAt = { self.fails("renameAt") ? -1 : real.renameAt($0, $1, $2) }
        calls.renameExclusiveAt = { self.fails("renameExclusiveAt") ? -1 : real.renameExclusiveAt($0, $1, $2) }
        calls.unlinkAt = { self.fails("unlinkAt") ? -1 : real.unlinkAt($0, $1) }
        unsafe calls.readLink = { self.fails("readLink") ? -1 : unsafe real.readLink($0, $1) }
        guard countsLooks else { return calls }
        calls.status = { self.fails("status") ? .failure(Errno(rawValue: SystemCalls.errorNumber)) : real.status($0) }
        calls.statusAt = {
            self.fails("statusAt") ? .failure(Errno(rawValue: SystemCalls.errorNumber)) : real.statusAt($0, $1, $2)
        }
        calls.statusFlags = { self.fails("statusFlags") ? -1 : real.statusFlags($0) }
        calls.forget = { self.fails("forget") ? -1 : real.forget($0, $1, $2) }
        return calls
    }

    /// The flag for a file without a name, which only Linux has.
    private static let nameless: Int32 = 0o20000000
}

extension SystemCalls {
    /// Calls that skip syncs, for tests that are not about syncs and would wait for the disk a thousand times.
    package static var withoutWaiting: SystemCalls {
        var calls = SystemCalls()
        calls.sync = { _ in 0 }
        return calls
    }

    /// Calls that transfer at most one byte, or `count` bytes.
    package static func short(_ count: Int) -> SystemCalls {
        let real = SystemCalls()
        var calls = SystemCalls()
        unsafe calls.read = { unsafe real.read($0, UnsafeMutableRawBufferPointer(rebasing: $1.prefix(count))) }
        unsafe calls.readAt = { unsafe real.readAt($0, UnsafeMutableRawBufferPointer(rebasing: $1.prefix(count)), $2) }
        unsafe calls.write = { unsafe real.write($0, UnsafeRawBufferPointer(rebasing: $1.prefix(count))) }
        unsafe calls.writeAt = { unsafe real.writeAt($0, UnsafeRawBufferPointer(rebasing: $1.prefix(count)), $2) }
        unsafe calls.writePartsAt = { file, bytes, parts, offset in
            var left = count
            let some = parts.map { part in
                let some = part.prefix(left)
                left -= some.count
                return some
            }
            return unsafe real.writePartsAt(file, bytes, some[...], offset)
        }
        return calls
    }
}
