package import Testing
import VaultCrypto

/// Runs every test of a suite once with each available engine.
package struct BothEngines: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // The suite itself needs no second run.
        guard testCase != nil else { return try await function() }
        for engine in CipherEngine.available {
            try await CipherEngine.$chosen.withValue(engine) { try await function() }
        }
    }
}

extension Trait where Self == BothEngines {
    package static var bothEngines: BothEngines { BothEngines() }
}
