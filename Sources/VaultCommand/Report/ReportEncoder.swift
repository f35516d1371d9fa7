/// Encodes a report as JSON text on one line, with its members in the order of their names.
///
/// A list can have a million lines, and Foundation's encoder takes longer for each than all other work for it.
final class ReportEncoder: Encoder {
    private enum Content {
        case nothing
        case text([UInt8])
        case object([(name: String, value: ReportEncoder)])
        case list([ReportEncoder])
    }

    private var content = Content.nothing
    let codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]

    /// The value as JSON text in UTF-8.
    static func text(of value: some Encodable) throws -> String {
        var bytes: [UInt8] = []
        try ReportEncoder(value).write(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private init() {}

    private init(_ value: some Encodable) throws {
        try set(value)
    }

    private func set<T: Encodable>(_ value: T) throws {
        var bytes: [UInt8] = []
        switch value {
        case let text as String: Self.append(text, to: &bytes)
        case let flag as Bool: bytes += (flag ? "true" : "false").utf8
        case let number as any BinaryInteger: bytes += String(describing: number).utf8
        case is any BinaryFloatingPoint:
            throw EncodingError.invalidValue(
                value, EncodingError.Context(codingPath: [], debugDescription: "reports have whole numbers"))
        default: return try value.encode(to: self)
        }
        content = .text(bytes)
    }

    private func write(to bytes: inout [UInt8]) {
        switch content {
        case .nothing: bytes += "null".utf8
        case .text(let text): bytes += text
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            var isFirst = true
            for (name, value) in members.sorted(by: { $0.name < $1.name }) {
                if !isFirst { bytes.append(UInt8(ascii: ",")) }
                isFirst = false
                Self.append(name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        case .list(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        }
    }

    /// Appends a string with what JSON must escape in it escaped.
    private static func append(_ text: String, to bytes: inout [UInt8]) {
        let quote = UInt8(ascii: "\"")
        bytes.append(quote)
        for byte in text.utf8 {
            switch byte {
            case quote, UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0x20...: bytes.append(byte)
            case 0x08: bytes += "\\b".utf8
            case 0x09: bytes += "\\t".utf8
            case 0x0A: bytes += "\\n".utf8
            case 0x0C: bytes += "\\f".utf8
            case 0x0D: bytes += "\\r".utf8
            default: bytes += "\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8
            }
        }
        bytes.append(quote)
    }

    private func addMember(_ name: String, _ value: ReportEncoder) {
        var members: [(name: String, value: ReportEncoder)] = []
        if case .object(let before) = content { members = before }
        // Otherwise the list would be copied for each member.
        content = .nothing
        members.append((name, value))
        content = .object(members)
    }

    private func addElement(_ value: ReportEncoder) {
        var values: [ReportEncoder] = []
        if case .list(let before) = content { values = before }
        content = .nothing
        values.append(value)
        content = .list(values)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if case .nothing = content { content = .object([]) }
        return KeyedEncodingContainer(Members<Key>(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if case .nothing = content { content = .list([]) }
        return Elements(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { Single(encoder: self) }

    private struct Members<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let encoder: ReportEncoder
        var codingPath: [any CodingKey] { [] }

        private func added(_ key: some CodingKey) -> ReportEncoder {
            let value = ReportEncoder()
            encoder.addMember(key.stringValue, value)
            return value
        }

        func encodeNil(forKey key: Key) { _ = added(key) }
        func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try added(key).set(value) }
        func nestedContainer<Other: CodingKey>(
            keyedBy type: Other.Type, forKey key: Key
        ) -> KeyedEncodingContainer<Other> { added(key).container(keyedBy: type) }
        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { added(key).unkeyedContainer() }
        func superEncoder() -> any Encoder { encoder }
        func superEncoder(forKey key: Key) -> any Encoder { added(key) }
    }

    private struct Elements: UnkeyedEncodingContainer {
        let encoder: ReportEncoder
        private(set) var count = 0
        var codingPath: [any CodingKey] { [] }

        init(encoder: ReportEncoder) { self.encoder = encoder }

        private mutating func added() -> ReportEncoder {
            let value = ReportEncoder()
            encoder.addElement(value)
            count += 1
            return value
        }

        mutating func encodeNil() { _ = added() }
        mutating func encode<T: Encodable>(_ value: T) throws { try added().set(value) }
        mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
            added().container(keyedBy: type)
        }
        mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { added().unkeyedContainer() }
        mutating func superEncoder() -> any Encoder { added() }
    }

    private struct Single: SingleValueEncodingContainer {
        let encoder: ReportEncoder
        var codingPath: [any CodingKey] { [] }

        func encodeNil() {}
        func encode<T: Encodable>(_ value: T) throws { try encoder.set(value) }
    }
}
