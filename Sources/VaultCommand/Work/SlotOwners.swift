internal import VaultFile

/// Which of some identities the slots of public keys belong to: by their IDs, and hidden slots by a try.
struct SlotOwners {
    private var owners: [SlotDescription: LoadedIdentity] = [:]

    init(of seen: Inspection, among identities: [LoadedIdentity], context: Context) {
        self.init(seen.headers, identities, context) { try seen.trySlots(with: $0) }
    }

    init(of file: HeaderFile, among identities: [LoadedIdentity], context: Context) {
        self.init([file.summary], identities, context) { try file.trySlots(with: $0) }
    }

    private init(
        _ headers: [HeaderSummary], _ identities: [LoadedIdentity], _ context: Context,
        _ trySlots: (Credentials) throws -> [Inspection.TriedSlot]
    ) {
        for header in headers {
            for identity in identities {
                let id = identity.publicKey.slotID(in: header)
                for slot in header.slots where slot.kind == identity.publicKey.kind && slot.keyID == id {
                    owners[slot] = owners[slot] ?? identity
                }
            }
        }
        guard headers.contains(where: { $0.slots.contains(where: \.isHidden) }) else { return }
        for identity in identities {
            let credentials = Credentials(KeySet(identities: [identity.identity]), context: context)
            for tried in (try? trySlots(credentials)) ?? [] where tried.outcome == .opened {
                owners[tried.slot] = owners[tried.slot] ?? identity
            }
        }
    }

    subscript(_ slot: SlotDescription) -> (name: String, recipient: String)? {
        owners[slot].map { ($0.name, $0.publicKey.text) }
    }
}
