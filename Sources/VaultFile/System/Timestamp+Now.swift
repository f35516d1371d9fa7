internal import CPlatform
public import VaultFormat

extension Timestamp {
    /// The present time by the system's clock, in whole seconds.
    public static var now: Timestamp {
        Timestamp(seconds: Int64(time(nil)))
    }
}
