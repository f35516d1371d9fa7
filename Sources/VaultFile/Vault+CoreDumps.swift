extension Vault {
    /// Keeps all memory of this process out of core dumps, from now on and also in the processes that it forks. On
    /// Linux it also keeps other processes of the same user from reading that memory. Call it when the program starts.
    ///
    /// Keys and passphrases of this library are in memory that is locked and not dumped, without this call. Two things
    /// are not, because the libraries that compute them take ordinary memory of their own:
    ///
    /// - the working memory of Argon2id while a passphrase is stretched. A part of it is enough to guess the passphrase
    ///   at a fraction of the cost;
    /// - the key of a container's records, in OpenSSL's memory, while the container is open.
    ///
    /// A crash then leaves no core dump to debug, and on Linux a debugger cannot attach and the files of the process
    /// in `/proc` belong to root. This call does not keep memory out of swap space: only encrypted swap space, or none,
    /// does.
    ///
    /// - Returns: whether the system has agreed.
    @discardableResult
    public static func forbidCoreDumps() -> Bool { SystemCalls.forbidCoreDumps() }
}
