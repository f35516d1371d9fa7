/// In what state the two header copies of an opened container are (SEEK-17, STR-21 to STR-27). It says nothing of the
/// payload, every byte of which is authenticated or not given out.
public enum Health: String, Hashable, Sendable {
    /// Both copies are valid and identical.
    case intact
    /// Both are valid, the tail is the next generation: a rotation was interrupted.
    case rotationUnfinished
    /// Both are valid and differ in a way that no interrupted rotation leaves.
    case copiesConflict
    /// Only the tail copy is valid.
    case frontDamaged
    /// Only the front copy is valid.
    case tailDamaged
}
