// Every kind of check that checks.py knows, and code that only looks like a check. A comment with `finds` says what
// checks.py must find in the line after the comments: the kind, the mutants, the text. Nothing builds this file.

struct Fixture {
    func guards(_ bytes: [UInt8], _ file: File) throws -> UInt8? {
        // finds guard deleted inverted: bytes.count == 4
        // finds guard deleted inverted: bytes[1] == 1
        guard bytes.count == 4, let first = bytes.first, bytes[1] == 1 else { throw VaultError(.damaged) }
        // finds guard deleted inverted: bytes[2] == 0 || bytes[3] == 0
        guard bytes[2] == 0 || bytes[3] == 0 else { return nil }
        guard
            // finds guard deleted inverted: bytes[2] == 0
            // finds guard deleted inverted: bytes.contains(where: { $0 == first })
            bytes[2] == 0 && bytes.contains(where: { $0 == first }),
            // finds guard deleted inverted: bytes.last == first
            bytes.last == first
        else {
            throw VaultError(.damaged, "a guard of several lines, if one throws")
        }
        // finds binding deleted: let length = bytes.first
        guard let length = bytes.first else { throw VaultError(.damaged) }
        // Not checks: a value that cannot be made up, and errors that are not about bytes.
        guard let last = bytes.last else { throw VaultError(.damaged) }
        guard file.isOpen else { throw Errno.badFileDescriptor }
        guard last > 0 else { preconditionFailure() }
        // finds guard deleted inverted explained: last < 9
        // mutant: nobody can see it
        guard last < 9 else { throw VaultError(.damaged) }
        return first
    }

    func ifs(_ bytes: [UInt8], _ text: String) throws -> Int? {
        // finds if deleted inverted: bytes.isEmpty
        if bytes.isEmpty { throw VaultError(.damaged) }
        // finds if deleted inverted: bytes.count > 4
        // finds if stricter: bytes[4] == 0
        if bytes.count > 4, bytes[4] == 0 {
            return nil
        }
        // finds if deleted: if let found = find(bytes)
        if let found = find(bytes) { throw VaultError(.damaged, "\(found) \(text.isEmpty ? "if" : "guard")") }
        // finds if deleted: if case .other = kind
        if case .other = kind { throw VaultError(.damaged) }
        if bytes.count > 3 { count += 1 }
        if bytes.count > 2 { throw VaultError(.invalidArgument) }
        #if canImport(Darwin)
        count += 2
        #endif
        // finds where deleted inverted: byte > 9
        for byte in bytes where byte > 9 { throw VaultError(.damaged) }
        return 0
    }

    func throwsAndCalls(_ kind: Int, _ reader: Reader) throws -> Int {
        // finds call deleted: try reader.checkEnd(kind)
        try reader.checkEnd(kind)
        let value = try reader.checkedValue(kind)
        switch kind {
        case 1: return value
        // finds throw deleted: throw VaultError(.damaged)
        case 2: throw VaultError(.damaged)
        case 3: throw VaultError(.inputFailed)
        // finds throw deleted: throw VaultError(.unsupported, "default: throw")
        default: throw VaultError(.unsupported, "default: throw")
        }
    }

    func isValid(_ value: Int) -> Bool {
        // finds answer deleted inverted: value > 3
        // finds answer deleted inverted: value < limit
        value > 3 && value < limit
    }

    // finds answer deleted inverted: first == second
    var isWhole: Bool { first == second }

    func known(_ value: Int) -> Int? {
        // finds answer deleted inverted: isValid(value)
        return isValid(value) ? value : nil
    }
}
