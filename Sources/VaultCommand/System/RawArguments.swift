/// The command line and the environment as the bytes that they are.
///
/// `CommandLine.arguments` repairs invalid UTF-8, which makes a file whose name is not UTF-8 unreachable.
enum RawArguments {
    /// Whether there are any: Swift takes them from `/proc` on Linux, which need not be there.
    static var areKnown: Bool { CommandLine.argc > 0 }

    /// Every argument but the program's name.
    static func all() -> [[UInt8]] {
        let arguments = unsafe CommandLine.unsafeArgv
        var all: [[UInt8]] = []
        for index in 1..<max(1, Int(CommandLine.argc)) {
            if let argument = unsafe Platform.bytes(of: arguments[index]) { all.append(argument) }
        }
        return all
    }

    /// The value of a variable; nil where it is not set.
    static func environment(_ name: String) -> [UInt8]? {
        Platform.environment(name)
    }
}
