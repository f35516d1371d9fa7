/// The hints about the containers of folders, and about mounts.
extension Hint {
    static let installArchiveLibrary = Hint(
        "install libarchive: on Debian the package libarchive13, or libarchive13t64 in newer releases")
    static let updateFiles = Hint("--recursive makes a container of each file in it, and --update goes with that")
    static let packAgain = Hint("if that matters, encrypt it again while no program writes to it")
    static let packReadable = Hint(
        "if that matters, see that all of it can be read, for example as root, and encrypt it again")
    static let otherPaths =
        Hint("a tar program extracts all paths after decrypt; or change the paths, and encrypt it again")
    static let listContainers = Hint("-d shows the containers themselves")
    static let noPatterns = Hint("patterns do not work here: name the folder to take all that is in it")
    static let decryptWhole = Hint("vaultfile decrypt writes its contents")
    static func extractMember(_ path: String, of container: String) -> Hint {
        Hint("vaultfile extract \(quoted(container)) \(quoted(path)) takes it out")
    }
    static func forceShowsMember(_ path: String, of container: String) -> Hint {
        Hint("--force shows it anyway; " + extractMember(path, of: container).text)
    }
    /// For what `extract` refuses because of its path.
    static func tarTakesOut(_ container: String) -> Hint {
        Hint(
            "vaultfile decrypt -o - \(quoted(container)) | tar -x takes out absolute paths too: tar leaves out the / "
                + "before them")
    }
    static func tarReadsOn(_ container: String) -> Hint {
        Hint("vaultfile decrypt -o - \(quoted(container)) | tar -x -i reads on behind it")
    }
    static let scanLists = Hint("vaultfile ls --scan lists them")
    static let decompressFirst =
        Hint("a compressed tar has to be decompressed first: zcat FILE | vaultfile encrypt --index")
    static let removeInTheWay = Hint("move it away first; -f replaces only files")
    static let extractElsewhere = Hint("-C with an empty folder extracts it there; -f changes nothing about this")
    static let listMembers = Hint("vaultfile ls shows the paths of the members")
    static let escapedPath = Hint(
        "in the list, \\n stands for a line end and \\x for another byte: bash takes such a path as $'PATH'")
    static let catLink = Hint("name the member that it leads to")
    static let scanStream = Hint("--scan goes by the stream, and reads all of it")
    static let devicesAreMade = Hint("--devices makes them")
    static let allLinksAreMade = Hint("--all-links makes them")

    // MARK: Mounts

    static let mountTakes = Hint("name a folder of containers, or the container of a folder or of a tar")
    static let mountElsewhere = Hint("name a folder outside of it")
    static func mountOrder(_ source: String, _ mountPoint: String) -> Hint {
        Hint("did you mean vaultfile mount \(quoted(source)) \(quoted(mountPoint))?")
    }
    static func verifyNames(_ folder: String) -> Hint {
        Hint("vaultfile verify --recursive --quick \(quoted(folder)) names them")
    }
    static let mountIsReadOnly = Hint("a mount is always read-only, and only for the user who mounts: leave it out")
    static let installFuse = Hint("Debian's packages fuse3 and libfuse3-3 have what a mount needs")
    static let fuseDevice = Hint(
        "a mount needs a folder that you can write, /dev/fuse, and fusermount3 from the package fuse3")
    /// - Parameter place: what was named; nil for nothing.
    static func unmount(_ place: String?) -> Hint {
        Hint("fusermount3 -u \(place.map(quoted) ?? "MOUNTPOINT") unmounts it")
    }
}
