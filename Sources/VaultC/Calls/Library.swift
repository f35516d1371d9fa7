// vaultfile.h documents the calls.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import VaultFile

/// The version of the library, as `vaultfile.h` has it.
private let version = CText("0.1.0")
private let engine = CText(Vault.engine)
private let nothing = CText("")

@c(vaultfile_version)
public func libraryVersion() -> UnsafePointer<CChar>? { unsafe version.address }

@c(vaultfile_engine)
public func libraryEngine() -> UnsafePointer<CChar>? { unsafe engine.address }

@c(vaultfile_handle_count)
public func handleCount() -> UInt { UInt(Handles.count) }

@c(vaultfile_wipe)
public func wipeBytes(_ bytes: UnsafeMutableRawPointer?, _ count: UInt) {
    guard let bytes = unsafe bytes, let count = Int(exactly: count) else { return }
    unsafe wipe(bytes, count)
}

// MARK: Errors

private func value(_ error: OpaquePointer?) -> ErrorValue? { try? unsafe Handles.object(error) }

@c(vaultfile_error_status)
public func errorStatus(_ error: OpaquePointer?) -> Int32 { unsafe value(error)?.status ?? 0 }

@c(vaultfile_error_name)
public func errorName(_ error: OpaquePointer?) -> UnsafePointer<CChar>? {
    unsafe value(error)?.name.address ?? nothing.address
}

@c(vaultfile_error_message)
public func errorMessage(_ error: OpaquePointer?) -> UnsafePointer<CChar>? {
    unsafe value(error)?.message.address ?? nothing.address
}

@c(vaultfile_error_offset)
public func errorOffset(_ error: OpaquePointer?, _ offset: UnsafeMutablePointer<UInt64>?) -> Bool {
    unsafe store(value(error)?.offset, offset)
}

@c(vaultfile_error_record)
public func errorRecord(_ error: OpaquePointer?, _ record: UnsafeMutablePointer<UInt64>?) -> Bool {
    unsafe store(value(error)?.record, record)
}

@c(vaultfile_error_errno)
public func errorErrno(_ error: OpaquePointer?) -> Int32 { unsafe value(error)?.errorNumber ?? 0 }

@c(vaultfile_error_callback)
public func errorCallback(_ error: OpaquePointer?) -> Int32 { unsafe value(error)?.callback ?? 0 }

@c(vaultfile_error_free)
public func errorFree(_ error: OpaquePointer?) {
    unsafe Handles.free(error, ErrorValue.self)
}

/// Stores a number for a caller who may not want it.
private func store(_ number: UInt64?, _ place: UnsafeMutablePointer<UInt64>?) -> Bool {
    if let place = unsafe place { unsafe place.pointee = number ?? 0 }
    return number != nil
}

// MARK: Data

@c(vaultfile_data_bytes)
public func dataBytes(_ data: OpaquePointer?) -> UnsafeRawPointer? {
    unsafe (try? Handles.object(data, DataValue.self))?.address
}

@c(vaultfile_data_count)
public func dataCount(_ data: OpaquePointer?) -> UInt {
    unsafe UInt((try? Handles.object(data, DataValue.self))?.count ?? 0)
}

@c(vaultfile_data_free)
public func dataFree(_ data: OpaquePointer?) {
    unsafe Handles.free(data, DataValue.self)
}
