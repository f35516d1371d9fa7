internal import SystemPackage
internal import VaultFile
internal import VaultSystem

extension PathArgument {
    /// Whether it has the name of a header file.
    var isNamedHeaderFile: Bool { lastComponent.suffix(4) == Array(".hdr".utf8)[...] }

    /// Whether its name ends with `.`, 16 digits and `.hdr`, as the command names a header file beside its container.
    var hasEndingOfHeaderFile: Bool {
        let ending = lastComponent.suffix(21)
        return ending.count == 21 && ending.first == UInt8(ascii: ".") && isNamedHeaderFile
            && ending.dropFirst().prefix(16).allSatisfy { "0123456789abcdef".utf8.contains($0) }
    }

    /// The path of another file in its folder.
    func besideIt(_ name: FilePath) -> [UInt8] {
        Array(bytes[...(bytes.lastIndex(of: UInt8(ascii: "/")) ?? -1)]) + name.bytes
    }
}

extension Input {
    /// The header file that this input is; nil if it is anything else.
    ///
    /// The name decides too. A container that was cut behind its front header copy is byte for byte a header file, and must
    /// not be called intact.
    ///
    /// - Throws: `Failure` if it cannot be read, or is a damaged header file.
    func headerFile(_ source: @autoclosure () -> FileSource) throws(Failure) -> HeaderFile? {
        guard canSeek, operand.isNamedHeaderFile, let size, size <= UInt64(HeaderFile.maximumLength) else { return nil }
        if try !beginsWithMagic {
            // After a crash it may be empty or hold zeros. With such a name it is still a damaged header file, and no other
            // file; and a container that lost its beginning is none, whatever its name.
            guard operand.hasEndingOfHeaderFile, try !endsWithMagic else { return nil }
        }
        do {
            return try HeaderFile(source())
        } catch let error as VaultError where error.code == .trailingData {
            // A container, whatever its name.
            return nil
        } catch let error as VaultError {
            throw Failure(ofHeaderFile: error, about: subject)
        } catch {
            throw Failure(error, about: subject)
        }
    }
}

extension Failure {
    /// The failure of an input that is a header file.
    init(ofHeaderFile error: VaultError, about subject: Subject) {
        self.init(error, about: subject)
        guard error.isAboutHeaderFile, status == .damaged else { return }
        reason = "as a header file, \(error.message.trimmingHeaderFile) (\(error.code.name))"
        hint = .otherCopyOfHeaderFile
    }
}

extension Failure {
    /// The failure of a verb that takes containers alone, if the input is a header file; nil if it is not, or if `error` has
    /// another reason.
    init?(_ error: any Error, becauseOfKind input: Input) {
        guard let error = error as? VaultError, error.code == .truncated, !error.isAboutHeaderFile,
            (try? input.headerFile(FileSource(input.descriptor))) ?? nil != nil
        else { return nil }
        self.init(
            code: error.code, input.subject, "is a header file, and no container", hint: .nameContainerOfHeaderFile)
    }
}

extension String {
    /// Without the words that say that an error is about the header file of an input.
    fileprivate var trimmingHeaderFile: Substring {
        let words = "its header file: "
        return hasPrefix(words) ? dropFirst(words.count) : self[...]
    }
}

/// What an input that changes in place shows, which is not authenticated.
extension InputItem {
    /// - Returns: nil if it shows nothing: what changes it then says what is wrong.
    /// - Throws: `VaultError` with `inputFailed` or `memoryUnavailable`: a file that could not be read must not be taken for
    ///   another kind of file.
    func shown(onWaiting: @escaping @Sendable () -> Void) throws -> Inspection? {
        try withPlace { place in
            do {
                return try Inspection(FileSource(at: place, onWaiting: onWaiting))
            } catch let error as VaultError where ![.inputFailed, .memoryUnavailable].contains(error.code) {
                return nil
            }
        }
    }
}
