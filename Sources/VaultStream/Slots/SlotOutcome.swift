/// The result of trying one slot.
public enum SlotOutcome: Hashable, Sendable {
    /// A secret of the caller opens it.
    case opened
    /// A secret was tried and does not open it.
    case refused
    /// The caller has no secret for it, or a try would cost more than their limits allow.
    case notTried
}
