import SystemPackage
import VaultFile

/// An error of this interface itself: a wrong argument, or what a callback returned.
struct Failure: Error {
    let name: String
    let message: String
    /// The status that a callback returned; 0 if none did.
    var callback: Int32 = 0
    /// The place in the container, if it is about one.
    var offset: UInt64?

    static func invalid(_ message: String) -> Failure { Failure(name: "invalidArgument", message: message) }

    static let memory = Failure(name: "memoryUnavailable", message: "the system has no memory left")

    static func callback(_ status: Int32) -> Failure {
        Failure(name: "callbackFailed", message: "a callback returned the status \(status)", callback: status)
    }
}

/// The error that a C program holds.
final class ErrorValue: Sendable {
    let name: CText
    let message: CText
    let status: Int32
    let offset: UInt64?
    let record: UInt64?
    let errorNumber: Int32
    let callback: Int32

    init(_ error: any Error) {
        let (name, message): (String, String)
        switch error {
        case let error as VaultError:
            (name, message) = (error.code.name, error.message)
            (offset, record, callback) = (error.offset, error.record, 0)
            errorNumber = error.systemError?.rawValue ?? 0
        case let error as Failure:
            (name, message) = (error.name, error.message)
            (offset, record, callback, errorNumber) = (error.offset, nil, error.callback, 0)
        case let error as Errno:
            (name, message) = ("inputFailed", "\(error)")
            (offset, record, callback, errorNumber) = (nil, nil, 0, error.rawValue)
        default:
            (name, message) = ("other", "\(error)")
            (offset, record, callback, errorNumber) = (nil, nil, 0, 0)
        }
        self.name = CText(name)
        self.message = CText(message)
        status = Statuses.number(of: name)
    }
}

/// The numbers of errors, as `vaultfile.h` has them. `Tests/C/check-library.py` compares the two.
enum Statuses {
    static let other: Int32 = 199

    private static let groups: [(first: Int32, names: [String])] = [
        (
            1,
            [
                "notVaultfile", "unsupportedVersion", "unsupportedSuite", "unsupportedCompression", "unsupportedFlags",
                "headerDamaged", "headerMalformed", "copiesDisagree", "unexpectedState", "limitExceeded", "wrongKey",
                "headerForged", "recordDamaged", "manifestMalformed", "unsupportedMember", "manifestMismatch",
                "contentMismatch", "packingMalformed", "paddingNotZero", "footerDamaged", "truncated", "trailingData",
                "rangeInvalid", "indexMismatch", "badKey", "badPassphrase", "badContext", "tooLarge", "doesNotFit",
                "mixedRecipients", "pluginFailed", "headerDetached", "notDetached",
            ]
        ),
        (
            51,
            [
                "lastSlot", "consentNeeded", "hardLinks", "generationExhausted", "copiesConflict", "rotationUnfinished",
            ]
        ),
        (
            71,
            [
                "keyringMalformed", "keyringMismatch", "keyringUnprotected", "keyringProtected", "noSuchKey",
                "keyDestroyed", "noCurrentKey", "keyExists", "keyNameTaken",
            ]
        ),
        (
            101,
            [
                "invalidArgument", "inputFailed", "outputFailed", "outputExists", "outputNotReplaceable", "inUse",
                "memoryUnavailable", "keyStoreUnavailable", "forked", "callbackFailed",
            ]
        ),
    ]

    private static let numbers = Dictionary(
        uniqueKeysWithValues: groups.flatMap { group in
            group.names.enumerated().map { ($1, group.first + Int32($0)) }
        })

    static func number(of name: String) -> Int32 { numbers[name] ?? other }
}

/// A text that ends with a zero, at an address that does not change.
@safe final class CText: @unchecked Sendable {
    let address: UnsafePointer<CChar>

    init(_ text: String) {
        let bytes = [UInt8](text.utf8).filter { $0 != 0 }
        let place = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count + 1)
        for (index, byte) in bytes.enumerated() { unsafe place[index] = CChar(bitPattern: byte) }
        unsafe place[bytes.count] = 0
        unsafe address = UnsafePointer(place)
    }

    deinit {
        unsafe address.deallocate()
    }
}
