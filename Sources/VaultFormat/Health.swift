/// The state of the two header copies of an opened container (SEEK-17, STR-21 to STR-27).
///
/// It says nothing about the payload: a byte of the payload that is not authentic is never released.
public enum Health: String, Hashable, Sendable {
    /// Both copies are valid and identical.
    case intact
    /// Both copies are valid, and the tail has the next generation: a rotation was interrupted.
    case rotationUnfinished
    /// Both copies are valid, and no interrupted rotation explains their difference.
    case copiesConflict
    /// Only the tail copy is valid.
    case frontDamaged
    /// Only the front copy is valid.
    case tailDamaged
}
