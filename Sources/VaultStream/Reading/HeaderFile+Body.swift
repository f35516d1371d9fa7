import VaultFormat

extension HeaderFile {
    /// Checks a body's intact copies, before a slot is tried (DET-3, steps 3 and 4).
    ///
    /// - Throws: `copiesDisagree`, `notDetached`.
    func check(belongsTo copies: [HeaderCopy]) throws(VaultError) {
        // Without this, an attacker could give the body of one container to the header file of another one, and a slot
        // would open whose file key is not the body's.
        guard copies.allSatisfy({ $0.preamble == copy.preamble }) else {
            throw VaultError(.copiesDisagree, "the header file is that of another container")
        }
        guard copies.contains(where: \.isDetached) else {
            throw VaultError(.notDetached, "the container has its own slots, and a header file was given")
        }
    }

    /// Whether this is a body's header file: its preamble is that of each intact copy, and a holder of the file key has
    /// made it (DET-2).
    package func isOfBody(_ opening: ContainerOpening) -> Bool {
        opening.intactPreambles.allSatisfy { $0 == copy.preamble } && opening.schedule.isValid(copy)
    }
}
