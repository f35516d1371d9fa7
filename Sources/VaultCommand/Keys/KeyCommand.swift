internal import SystemPackage
internal import VaultFile

/// A key from a command that prints a key file.
enum KeyCommand {
    private static let subject = Failure.Subject.text("--key-command")

    /// Runs the command and reads what it prints straight into guarded memory.
    static func key(from command: [UInt8]) throws(Failure) -> LoadedKey {
        let shell: ShellCommand
        do {
            shell = try ShellCommand(command)
        } catch {
            throw Failure(error, about: subject, system: .noKey)
        }
        // The command's own failure explains more than the half of a key file that it left, so that is said first.
        do {
            let key = Result { try LoadedKey(try SecretText(contentsOf: shell.output), from: subject) }
            // A command that is still printing ends at the closed pipe.
            try? shell.output.close()
            do throws(ShellCommand.Failure) {
                try shell.wait()
            } catch {
                switch error {
                case .status(let status):
                    throw Failure(.noKey, subject, "the command failed with status \(status)")
                case .signal(let number):
                    throw Failure(.noKey, subject, "the command was ended by signal \(number)")
                case .closedPipe:
                    _ = try key.get()
                    throw Failure(.noKey, subject, "the command was ended by a closed pipe")
                }
            }
            return try key.get()
        } catch {
            throw Failure(error, about: subject, system: .noKey)
        }
    }
}
