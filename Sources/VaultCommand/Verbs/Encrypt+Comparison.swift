internal import VaultFile

/// Whether an existing file is the container that a run would make.
extension Encrypt {
    /// The result that encrypting the input would have if `there` is the container that this run would make of it: with
    /// a slot for each secret and no other slot, with these options, and with the same contents. Nil if it is not.
    func result(
        of there: Input, madeFrom input: Input, for secrets: [Secret], _ sealing: SealOptions
    ) throws -> Conversion.Result? {
        do {
            return try compared(there, madeFrom: input, for: secrets, sealing)
        } catch let error as VaultError {
            // Its bytes show that it is not that container.
            if error.code == .wrongKey || [.damaged, .unsupported].contains(ExitStatus(error.code)) { return nil }
            throw Failure(error, about: there.subject)
        }
    }

    private func compared(
        _ there: Input, madeFrom input: Input, for secrets: [Secret], _ sealing: SealOptions
    ) throws -> Conversion.Result? {
        let stretching = Stretching()
        defer { stretching.end() }
        if keys.mayStretch { stretching.begin() }
        var reader: SeekableVaultReader?
        for secret in secrets where secret.opens {
            reader = try SeekableVaultReader(
                FileSource(there.descriptor), with: Credentials(SecretAlone(secret: secret), context: sealing.context))
        }
        stretching.end()
        guard let reader else {
            throw Failure(
                .cannotCreate, there.subject, "exists, and nothing that was given opens it, to compare the two",
                hint: .identityCompares)
        }
        let (header, manifest) = (reader.opened.header, reader.opened.manifest)
        // Each secret opens it, and each public key has a slot, so as many slots as there are different ones are for
        // these only. Whose a hidden slot is cannot be told without its identity.
        guard
            secrets.allSatisfy({ secret in
                let named =
                    secret.publicKey.map { ($0.kind, $0.slotID(in: header)) }
                    ?? secret.plugin?.recipient.map { (.stanzas, $0.slotID(in: header)) }
                guard !secret.opens, let (kind, id) = named else { return true }
                return header.slots.contains { $0.kind == kind && $0.keyID == id }
            })
        else { return nil }
        guard reader.opened.health == .intact, header.slots.count == secrets.countOfDifferent,
            header.chunkSize == sealing.chunkSize, header.compression == sealing.compression,
            header.capacity == sealing.headerCapacity ?? header.capacity, (manifest.digest != nil) == sealing.digest,
            manifest.metadata.describes(as: noMetadata ? Metadata() : Self.metadata(of: input), withIndex: index),
            try input.holds(plaintextOf: reader)
        else { return nil }
        return Self.result(input, manifest)
    }
}
