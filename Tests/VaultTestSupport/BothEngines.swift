package import Testing
import VaultCrypto

/// Runs every test of a suite once with each engine that is there.
package struct BothEngines: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // Of a suite as a whole there is nothing to be done twice.
        guard testCase != nil else { return try await function() }
        for engine in CipherEngine.available {
            try await CipherEngine.$chosen.withValue(engine) { try await function() }
        }
    }
}

extension Trait where Self == BothEngines {
    package static var bothEngines: BothEngines { BothEngines() }
}
