/// Everything that printing a value may show, in every way of printing.
package func everythingPrinted(_ value: Any) -> String {
    var dumped = ""
    dump(value, to: &dumped)
    var lines = [dumped, String(describing: value), String(reflecting: value), "\(value)"]
    func descend(_ value: Any, depth: Int) {
        guard depth < 12 else { return }
        for child in Mirror(reflecting: value).children {
            lines += [child.label ?? "", String(describing: child.value), String(reflecting: child.value)]
            descend(child.value, depth: depth + 1)
        }
    }
    descend(value, depth: 0)
    return lines.joined(separator: "\n")
}

/// The parts of a secret in a text: 4 of its bytes in a row, in hexadecimal, as decimal numbers or as characters.
package func traces(of secret: [UInt8], in text: String) -> [String] {
    let text = text.lowercased()
    var found: [String] = []
    for start in 0...max(0, secret.count - 4) {
        let part = [UInt8](secret[start..<min(start + 4, secret.count)])
        let forms = [
            part.hexDigits, part.map { String($0) }.joined(separator: ", "),
            part.map { String($0) }.joined(separator: ","),
            part.map { "0x" + [$0].hexDigits }.joined(separator: ", "),
            part.map { [$0].hexDigits }.joined(separator: " "),
            part.map { "- \($0)\n" }.joined(),
            String(decoding: part, as: UTF8.self).lowercased(),
        ]
        found += forms.filter { text.contains($0) }
    }
    return found
}
