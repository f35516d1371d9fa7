// Every kind of step that steps.py knows on the writing path, and code that only looks like one. A comment with `finds`
// says what steps.py must find in the line after the comments. Nothing builds this file.

struct Steps {
    func put(_ file: File, _ bytes: [UInt8]) throws {
        // finds drop deleted: try file.write(bytes)
        // finds swap swapped: try file.write(bytes) <-> try file.synchronize()
        try file.write(bytes)
        // finds drop deleted: try file.synchronize()
        // finds swap swapped: try file.synchronize() <-> _ = try? file.rename { name in check(name) }
        try file.synchronize()
        // finds drop deleted: _ = try? file.rename { name in // not part of it check(name) }
        _ = try? file.rename { name in
            // not part of it
            check(name)
        }
        let length = bytes.count
        // finds drop deleted explained: file.close()
        file.close()  // mutant: nothing is written after it
        count += length
        // finds condition always never: own.owner != other.owner
        // finds condition always never: own.group != other.group
        if own.owner != other.owner || own.group != other.group {
            // finds drop deleted: file.setOwner(other.owner, other.group)
            file.setOwner(other.owner, other.group)
        }
        // finds swap swapped: [first, last]
        // finds drop deleted: try file.write(bytes, at: place)
        for place in [first, last] { try file.write(bytes, at: place) }
        // finds condition always never: length > 0
        guard length > 0 else { return }
        // finds condition always never: length == 1
        place = length == 1 ? first : last
        // The order of these says nothing.
        // finds drop deleted: file.closeQuietly()
        file.closeQuietly()
        // finds drop deleted: folder.closeQuietly()
        folder.closeQuietly()
    }

    func errors(_ file: File) throws {
        // finds guard deleted inverted: file.isOpen
        guard file.isOpen else { throw Errno.badFileDescriptor }
        do {
            // finds drop deleted: try file.lock()
            try file.lock()
        } catch {
            // finds throw deleted: throw VaultError(.outputFailed)
            throw VaultError(.outputFailed)
        }
    }

    func values(_ name: String) -> [UInt8] {
        // finds value not random: randomness.bytes(name.count + 16)
        let nonce = randomness.bytes(name.count + 16)
        // finds value not random: RandomBytes.array(count: 8)
        return nonce + RandomBytes.array(count: 8)
    }

    // Values of their blocks, and calls that are parts of statements.
    var kind: Kind { kind(of: file) }

    func kind(of file: File) -> Kind {
        file.kind(
            of: file)
    }

    func open(_ file: File) throws -> File {
        do {
            return try file.opened()
        } catch {
            throw VaultError(.inputFailed)
        }
    }
}
