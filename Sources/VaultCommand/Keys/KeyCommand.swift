internal import SystemPackage
internal import VaultFile

/// A key from a command that prints a key file.
enum KeyCommand {
    /// Runs the command and reads what it prints straight into guarded memory.
    ///
    /// - Parameter subject: What a message about it names.
    static func key(from command: [UInt8], about subject: Failure.Subject) throws(Failure) -> LoadedKey {
        let shell: ShellCommand
        do {
            shell = try ShellCommand(command)
        } catch {
            throw Failure(error, about: subject, system: .noKey)
        }
        do {
            let text = try read(from: shell)
            do throws(ShellCommand.Failure) {
                try shell.wait()
            } catch {
                switch error {
                case .status(let status):
                    throw Failure(.noKey, subject, "the command failed with status \(status)")
                case .signal(let number):
                    throw Failure(.noKey, subject, "the command was ended by signal \(number)")
                case .unknown:
                    throw Failure(.noKey, subject, "how the command ended is not known")
                }
            }
            return try LoadedKey(text, from: subject)
        } catch {
            throw Failure(error, about: subject, system: .noKey)
        }
    }

    private static func read(from shell: ShellCommand) throws -> SecretText {
        do {
            let text = try SecretText(keyFile: shell.output)
            try? shell.output.close()
            return text
        } catch {
            // A command that goes on printing ends at the closed pipe; how it ends is no news.
            try? shell.output.close()
            _ = try? shell.wait()
            throw error
        }
    }
}
