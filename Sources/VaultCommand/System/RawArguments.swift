/// The command line as raw bytes.
///
/// `CommandLine.arguments` replaces invalid UTF-8, so a file whose name is not UTF-8 could not be named.
enum RawArguments {
    /// Whether the arguments are available. On Linux, Swift reads them from `/proc`, which may not be mounted.
    static var areKnown: Bool { CommandLine.argc > 0 }

    /// All arguments after the program's name.
    static func all() -> [[UInt8]] {
        let arguments = unsafe CommandLine.unsafeArgv
        var all: [[UInt8]] = []
        for index in 1..<max(1, Int(CommandLine.argc)) {
            if let argument = unsafe Platform.bytes(of: arguments[index]) { all.append(argument) }
        }
        return all
    }
}
