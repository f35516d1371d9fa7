import Foundation
import VaultFile
import VaultTestSupport

/// Compares this library with the Python reference: the same class of result and the same bytes for every input.
enum DifferentialTarget: FuzzTarget {
    static let name = "differential"
    /// Used by one thread only: the fuzzer has one.
    nonisolated(unsafe) private static var conversation: Reference.Conversation?
    /// The error of an optional part of the format that this library does not have.

    static func run(_ input: [UInt8]) throws {
        guard let input = FuzzInput(input), Reference.hasXWing || !needsXWing(input) else { return }
        let reference = try unsafe conversation ?? Reference.Conversation()
        unsafe conversation = reference
        if ["rotate", "repair", "reencrypt"].contains(input.secrets.vector.value("operation")) {
            return try change(input, reference)
        }
        for (kind, name) in [(ReaderKind.stream, "stream"), (.whole, "whole")] {
            let reading = try read(
                input.container, by: kind, keys: input.secrets.keySet, context: input.secrets.context,
                limits: FuzzInput.limits)
            // The reference has no limit for the length of the plaintext.
            if FuzzInput.isOfLength(reading.error) { return }
            let answer = try reference.answer(to: request(input, reader: name))
            try compare(
                answer, reading.health?.rawValue, reading.code, reading.plaintext, name)
        }
        try recover(input, reference)
    }

    private static func needsXWing(_ input: FuzzInput) -> Bool {
        let vector = input.secrets.vector
        let lines = ["identity", "add", "remove"].flatMap(vector.values)
        return lines.contains { $0.contains("AGE-SECRET-KEY-PQ-") || $0.contains("age1pq1") }
    }

    private static func recover(_ input: FuzzInput, _ reference: Reference.Conversation) throws {
        var options = RecoveryOptions()
        options.headerOffset = input.secrets.vector.value("header").flatMap { UInt64($0) }
        let recovering = try Recovering(
            MemorySource(input.container), keys: input.secrets.keySet, context: input.secrets.context,
            limits: FuzzInput.limits,
            options: options,
            jobs: 1)
        if case .failure(let error) = recovering.result, FuzzInput.isOfLength(error) { return }
        var request = request(input, reader: "recover")
        request.headerOffset = options.headerOffset
        let answer = try reference.answer(to: request)
        try compare(
            answer, recovering.recovered == nil ? nil : "recovered", recovering.code, recovering.plaintext, "recover")
        guard let recovered = recovering.recovered else { return }
        let lost = recovering.lost.map { [$0.lowerBound, $0.upperBound] }
        try require(
            answer.lost == lost && answer.complete == (recovered.manifest != nil)
                && answer.headerOffset == recovered.header.offset,
            "recover: \(lost) from \(recovered.header), the reference \(answer)")
    }

    private static func compare(
        _ answer: Reference.Answer, _ result: String?, _ code: VaultError.Code?, _ plaintext: [UInt8], _ reader: String
    ) throws {
        try require(answer.badRequest == nil, "\(answer)")
        try require(
            answer.result == result && answer.error == code?.name,
            "\(reader): \(result ?? code?.name ?? ""), the reference \(answer.result ?? answer.error ?? "")")
        try require(
            answer.plaintextSHA256 == nil || answer.plaintextSHA256 == sha256(plaintext).hexDigits,
            "\(reader): \(plaintext.count) bytes, the reference \(answer.plaintextLength ?? 0), \(code?.name ?? "")")
    }

    /// A change of keys, with the same random bytes on both sides. Both write the same bytes or give the same error.
    private static func change(_ input: FuzzInput, _ reference: Reference.Conversation) throws {
        let vector = input.secrets.vector
        let folder = try TemporaryFolder()
        let path = try folder.write(input.container, to: "c")
        var code: VaultError.Code?
        do {
            _ = try vector.change(path, limits: FuzzInput.limits)
        } catch let error as VaultError {
            if FuzzInput.isOfLength(error) { return }
            code = error.code
        } catch is Misread {
            return
        }
        var request = request(input, reader: nil)
        (request.operation, request.add, request.remove) = (
            vector.value("operation") ?? "", vector.values("add"), vector.values("remove")
        )
        (request.keep, request.consent) = (vector.value("keep"), vector.value("consent"))
        (request.mixed, request.stanzaWrap) = (vector.value("mixed"), vector.values("stanza-wrap"))
        request.expect = vector.value("expect")
        // After the bytes that a vector gives, this side draws zeros.
        request.random = (vector.bytes("random") ?? []).hexDigits + String(repeating: "00", count: 1 << 14)
        let answer = try reference.answer(to: request)
        try require(answer.badRequest == nil, "\(answer)")
        let result = code?.name ?? "done"
        try require(
            answer.error ?? answer.result == result, "\(result), the reference \(answer.error ?? answer.result ?? "")")
        // The writer chooses how it deflates a block.
        guard code == nil, request.operation != "reencrypt" || input.container.dropFirst(13).first == 0 else { return }
        // The library draws the randomness of X-Wing by itself.
        guard !vector.values("add").contains(where: { $0.contains("-PQ-") || $0.contains("age1pq1") }) else { return }
        let written = sha256(try folder.read("c")).hexDigits
        try require(answer.resultSHA256 == written, "another container is written than by the reference")
    }

    private static func request(_ input: FuzzInput, reader: String?) -> Reference.Request {
        var request = Reference.Request()
        request.reader = reader
        request.data = Data(input.container).base64EncodedString()
        request.keys = input.secrets.vector.values("key")
        request.passphrases = input.secrets.vector.values("passphrase")
        request.identities = input.secrets.vector.values("identity")
        request.stanzaAnswers = input.secrets.vector.values("stanza-answer")
        request.failingPlugins = input.secrets.vector.values("failing-plugin")
        request.context = input.secrets.vector.value("context")
        request.maxMemoryKiB = FuzzInput.limits.maximumMemoryKiB
        request.maxPasses = FuzzInput.limits.maximumPasses
        request.maxStretchingKiB = FuzzInput.limits.maximumStretchingKiB
        return request
    }

    static func mutate(_ input: [UInt8], _ random: inout SeededRandom, change: ByteChange, limit: Int) -> [UInt8] {
        let isChange = FuzzInput(input)?.secrets.vector.value("operation") != nil
        let target: any FuzzTarget.Type = isChange ? RotateTarget.self : RecoverTarget.self
        return target.mutate(input, &random, change: change, limit: limit)
    }
}
