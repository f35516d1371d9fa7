internal import VaultFile

/// Which of some identities the slots of public keys belong to: by their IDs, and hidden slots by a try.
struct SlotOwners {
    private var owners: [SlotDescription: LoadedIdentity] = [:]

    init(of seen: Inspection, among identities: [LoadedIdentity], context: Context) {
        for header in seen.headers {
            for identity in identities {
                let id = identity.publicKey.slotID(in: header)
                for slot in header.slots where slot.kind == identity.publicKey.kind && slot.keyID == id {
                    owners[slot] = owners[slot] ?? identity
                }
            }
        }
        guard seen.slots.contains(where: \.isHidden) else { return }
        for identity in identities {
            let credentials = Credentials(KeySet(identities: [identity.identity]), context: context)
            for tried in (try? seen.trySlots(with: credentials)) ?? [] where tried.outcome == .opened {
                owners[tried.slot] = owners[tried.slot] ?? identity
            }
        }
    }

    subscript(_ slot: SlotDescription) -> (name: String, recipient: String)? {
        owners[slot].map { ($0.name, $0.publicKey.text) }
    }
}
