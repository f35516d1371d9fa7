import SystemPackage
import Testing
import VaultStore
import VaultTestSupport

/// The tables of classes in the documents say what `ItemProtection.states(for:)` says. A test that fails shows the rows as
/// they have to be.
@Suite struct ClassTableTests {
    /// The lines of the table that begins with this line.
    private func table(_ path: FilePath, from first: String) throws -> [String] {
        let text = String(decoding: try Repository.contents(Repository.path(path)), as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            String(line.drop { $0 == " " })
        }
        let start = try #require(lines.firstIndex(of: first), "\(path) has no such table")
        return Array(lines[start...].dropFirst(2).prefix { $0.hasPrefix("|") })
    }

    /// The words of the Spec, for which an announced lock is unlocked.
    private static let spec: [Set<StoreState>: String] = [
        Set(StoreState.allCases): "in every state", [.unlocked, .closing, .locked]: "unlocked, locked",
        [.unlocked, .closing]: "unlocked",
    ]

    private func words(_ operation: ItemOperation) -> String {
        switch operation {
        case .open: "open and read an item, and learn its name from a list"
        case .readOn: "read on with a reader that was open before"
        case .write: "write a new item, or replace one"
        case .finish: "finish a writer that was open before"
        case .move: "move an item"
        case .protectFrom: "change the class of an item that has this class"
        case .protectTo: "give an item this class"
        case .remove: "remove an item, ask whether it is there and how long its file is, count items"
        }
    }

    @Test func specification() throws {
        let classes = ItemProtection.allCases.sorted()
        let expected = ItemOperation.allCases.map { operation in
            let cells = [words(operation)] + classes.map { Self.spec[$0.states(for: operation)] ?? "?" }
            return "| " + cells.joined(separator: " | ") + " |"
        }
        let head = "| | " + classes.map { "`\($0.rawValue)`" }.joined(separator: " | ") + " |"
        #expect(try table("Spec/STORE.md", from: head) == expected)
    }

    /// What a page for people calls the states in which items of a class are read and written.
    private struct Phrases {
        let always: String
        let onceUnlocked: String
        let unlocked: String
        let writtenAlways: String

        func phrase(_ protection: ItemProtection) -> String? {
            let (read, write) = (protection.states(for: .open), protection.states(for: .write))
            let known: [Set<StoreState>: String] = [
                Set(StoreState.allCases): always, [.unlocked, .closing, .locked]: onceUnlocked,
                [.unlocked, .closing]: unlocked,
            ]
            if read == write { return known[read] }
            return read == [.unlocked, .closing] && write == Set(StoreState.allCases) ? writtenAlways : nil
        }
    }

    /// A name of a class in the command's form.
    private func option(_ protection: ItemProtection) -> String {
        protection.rawValue.map { $0.isUppercase ? "-\($0.lowercased())" : String($0) }.joined()
    }

    /// The first two columns; what a class is for is no property of it.
    private func columns(_ rows: [String]) -> [[String]] {
        rows.map { row in
            row.split(separator: "|").prefix(2).map { cell in String(cell.dropFirst().dropLast()) }
        }
    }

    @Test func documentation() throws {
        let phrases = Phrases(
            always: "whenever the device key is at hand",
            onceUnlocked: "once the store was unlocked, until the machine restarts or `lock --seal`",
            unlocked: "only while the store is unlocked",
            writtenAlways: "only while the store is unlocked; it is written at any time")
        let rows = try table("Documentation/Stores.md", from: "| class | the item can be read | for |")
        let expected = ItemProtection.allCases.sorted().map { ["`\(option($0))`", phrases.phrase($0) ?? "?"] }
        #expect(columns(rows) == expected)
    }

    @Test func manual() throws {
        let phrases = Phrases(
            always: "while the store is open", onceUnlocked: "from the first unlock until the program closes the store",
            unlocked: "while the store is unlocked",
            writtenAlways: "readable while the store is unlocked; writable while it is open")
        let page: FilePath = "Sources/VaultStore/VaultStore.docc/VaultStore.md"
        let rows = try table(page, from: "| class | readable and writable |")
        let expected = ItemProtection.allCases.sorted().map { ["`\($0.rawValue)`", phrases.phrase($0) ?? "?"] }
        #expect(columns(rows) == expected)
    }
}
