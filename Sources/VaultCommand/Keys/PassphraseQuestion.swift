internal import Synchronization
internal import VaultFile

/// Thrown where a typed passphrase opens nothing and the user is asked for it again: the change of the container begins
/// once more (`ContainerKeys.tries`).
struct AskedAgain: Error {}

/// Passphrases that the user types to open containers, and may mistype. They are asked for once per run, and again after
/// a try that opens nothing.
final class PassphraseQuestion: Sendable {
    private struct State {
        var answer: Result<[Passphrase], Failure>?
        /// How often it was asked before.
        var number = 0
        /// Whether the answer has opened a container. Then it was not mistyped.
        var hasOpened = false
    }

    private let purpose: SecretPurpose
    private let count: Int
    private let reader: SecretReader
    private let state = Mutex(State())

    /// - Parameter count: How many passphrases are asked for.
    init(_ purpose: SecretPurpose, count: Int = 1, _ reader: SecretReader) {
        (self.purpose, self.count, self.reader) = (purpose, count, reader)
    }

    /// The answer, which is asked for unless it is known.
    ///
    /// - Parameter asking: What the question says; nil for what it is asked for.
    func answer(for asking: SecretPurpose? = nil) throws(Failure) -> [Passphrase] {
        let result = state.withLock { state in
            let result =
                state.answer
                ?? Result { () throws(Failure) in
                    var answer: [Passphrase] = []
                    for _ in 0..<count { answer.append(try reader.ask(for: asking ?? purpose)) }
                    return answer
                }
            state.answer = result
            return result
        }
        return try result.get()
    }

    /// The answer, if the user gave one.
    var known: [Passphrase] {
        state.withLock { state in
            if case .success(let answer) = state.answer { answer } else { [] }
        }
    }

    /// Whether it was asked, even in vain.
    var wasAsked: Bool { state.withLock { $0.answer != nil } }

    /// Which question the answer is for.
    var number: Int { state.withLock { $0.number } }

    /// To be called when a container opened with the answer to be tried.
    func noteOpened() {
        state.withLock { $0.hasOpened = true }
    }

    /// Whether a container that did not open is worth another try, because the user may have mistyped the answer.
    ///
    /// - Parameters:
    ///   - number: The number of the question whose answer was tried.
    ///   - words: What the user is told; nil if the answer is certainly wrong.
    func asksAgain(after number: Int, saying words: String? = nil) -> Bool {
        state.withLock { state in
            guard state.number == number else { return true }
            guard !state.hasOpened, case .success = state.answer, reader.asksAgain(for: purpose, saying: words) else {
                return false
            }
            state.answer = nil
            state.number += 1
            return true
        }
    }
}
