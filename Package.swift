// swift-tools-version: 6.2

import PackageDescription

/// The settings of every target. Each upcoming feature has its proposal above it.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0458-strict-memory-safety.md
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
    .enableUpcomingFeature("ExistentialAny"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
    .enableUpcomingFeature("InternalImportsByDefault"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// On Debian the compiler finds utf8proc by itself, and asking pkg-config for it causes a warning.
#if os(macOS)
let utf8procFlags: String? = "libutf8proc"
#else
let utf8procFlags: String? = nil
#endif

let system = Target.Dependency.product(name: "SystemPackage", package: "swift-system")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "vaultfile",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "VaultFile", targets: ["VaultFile"]),
        .library(name: "VaultStream", targets: ["VaultStream"]),
        .library(name: "VaultStore", targets: ["VaultStore"]),
        .executable(name: "vaultfile", targets: ["VaultfileMain"]),
    ],
    traits: [
        .trait(
            name: "LibCrypto",
            description: "Encrypt with OpenSSL's libcrypto: the same bytes as with libsodium, twice as fast."),
        .trait(
            name: "PublicKeys",
            description: "Slots for post-quantum public keys: X-Wing, by swift-crypto. X25519 needs no trait."),
        .default(enabledTraits: ["LibCrypto", "PublicKeys"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-system", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    ],
    targets: [
        .systemLibrary(
            name: "CSodium", pkgConfig: "libsodium",
            providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]),
        .systemLibrary(
            name: "CUTF8Proc", pkgConfig: utf8procFlags,
            providers: [.apt(["libutf8proc-dev"]), .brew(["utf8proc"])]),
        .systemLibrary(
            name: "CCrypto", pkgConfig: "libcrypto",
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
        .systemLibrary(
            name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .systemLibrary(name: "CPlatform"),
        // Only its headers: the library is loaded when it is needed.
        .systemLibrary(name: "CArchive", providers: [.apt(["libarchive-dev"]), .brew(["libarchive"])]),
        // Only its headers, as above: pkg-config would link the library.
        .systemLibrary(name: "CFuse", providers: [.apt(["libfuse3-dev"])]),
        .target(
            name: "VaultCrypto",
            dependencies: [
                "CPlatform", "CSodium", .target(name: "CCrypto", condition: .when(traits: ["LibCrypto"])),
            ]),
        // The only target that sees swift-crypto.
        .target(
            name: "VaultXWing",
            dependencies: [
                "VaultCrypto",
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["PublicKeys"])),
            ]),
        .target(name: "VaultDeflate", dependencies: ["CZlib"]),
        .target(name: "VaultFormat"),
        .target(name: "VaultTar", dependencies: ["VaultFormat"]),
        .target(
            name: "VaultStream",
            dependencies: ["VaultFormat", "VaultTar", "VaultCrypto", "VaultXWing", "VaultDeflate"]),
        // What VaultFile and VaultCommand share and no client sees.
        .target(name: "VaultSystem", dependencies: ["VaultFormat", "CPlatform", system]),
        .target(
            name: "VaultFile",
            dependencies: ["VaultFormat", "VaultTar", "VaultStream", "VaultCrypto", "VaultSystem", "CPlatform", system]),
        .target(
            name: "VaultStore",
            dependencies: ["VaultFile", "VaultStream", "VaultFormat", "VaultCrypto", "VaultSystem", system]),
        // Folders to tar streams and back, by libarchive. It knows no keys and no containers.
        .target(
            name: "VaultArchive",
            dependencies: ["VaultFormat", "VaultTar", "VaultSystem", "CArchive", "CPlatform", system]),
        // Containers as a file system, by libfuse3. It knows no keys and no terminal.
        .target(
            name: "VaultMount",
            dependencies: [
                "VaultArchive", "VaultFile", "VaultFormat", "VaultTar", "VaultSystem", "CPlatform", system,
                .target(name: "CFuse", condition: .when(platforms: [.linux])),
            ]),
        .target(
            name: "VaultCommand",
            dependencies: [
                "VaultArchive", "VaultFile", "VaultStore", "VaultMount", "VaultSystem", "CPlatform", "CUTF8Proc",
                arguments,
                system,
            ],
            exclude: ["json-schema.json"],
            // The command is a client of the library: it sees only what is public.
            packageAccess: false),
        // The product is called `vaultfile`. A module of that name would differ from `VaultFile` in case only.
        .executableTarget(name: "VaultfileMain", dependencies: ["VaultCommand"]),

        .target(
            name: "VaultTestSupport",
            dependencies: [
                "VaultFile", "VaultStream", "VaultCrypto", "VaultXWing", "VaultDeflate", "VaultSystem", "CPlatform",
                system,
            ],
            path: "Tests/VaultTestSupport"),
        .testTarget(name: "VaultCryptoTests", dependencies: ["VaultCrypto", "VaultXWing", "VaultTestSupport"]),
        .testTarget(name: "VaultFormatTests", dependencies: ["VaultFormat", "VaultTestSupport"]),
        .testTarget(
            name: "VaultStreamTests",
            dependencies: ["VaultStream", "VaultFormat", "VaultCrypto", "VaultXWing", "VaultTestSupport"]),
        .testTarget(
            name: "VaultFileTests", dependencies: ["VaultFile", "VaultSystem", "VaultTestSupport", "CPlatform", system]),
        .testTarget(
            name: "VaultStoreTests",
            dependencies: [
                "VaultStore", "VaultFile", "VaultCrypto", "VaultSystem", "VaultTestSupport", "CPlatform", "CSodium",
                system,
            ]),
        .testTarget(
            name: "VaultArchiveTests",
            dependencies: ["VaultArchive", "VaultTar", "VaultSystem", "VaultTestSupport", system]),
        .testTarget(
            name: "VaultMountTests",
            dependencies: [
                "VaultMount", "VaultFile", "VaultTar", "VaultSystem", "VaultTestSupport", "CPlatform", system,
            ]),
        .testTarget(
            name: "CommandTests",
            dependencies: ["VaultCommand", "VaultFile", "VaultSystem", "VaultTestSupport", system]),
        .testTarget(
            name: "VectorTests", dependencies: ["VaultTestSupport", "VaultFile", "VaultTar", "VaultCrypto", system]),
    ]
)

// The fuzz targets take long to build, so they exist only when VAULTFILE_FUZZ is set. The value `tests` adds the tests
// that replay earlier findings. Any other value is the compiler flags that instrument the fuzzed code, and adds
// libFuzzer's program.
let fuzzing = Context.environment["VAULTFILE_FUZZ"] ?? ""
let instrumentation = fuzzing == "tests" ? [] : fuzzing.split(separator: " ").map(String.init)
if !fuzzing.isEmpty {
    var fuzzed: [Target.Dependency] = [
        "VaultCommand", "VaultArchive", "VaultMount", "VaultFile", "VaultStore", "VaultStream", "VaultFormat",
        "VaultTar", "VaultCrypto", "VaultSystem", "VaultTestSupport", "CPlatform", arguments, system,
    ]
    #if compiler(>=6.3)
    fuzzed.append("VaultC")
    #endif
    let besideSources = [
        "README.md", "dictionaries", "regressions", "seeds.py", "coverage.py", "run.sh", "afl.sh", "one_key.py",
    ]
    if instrumentation.isEmpty {
        package.targets.append(
            .testTarget(
                name: "FuzzTests", dependencies: fuzzed, path: "Fuzz",
                exclude: besideSources + ["Fuzzer", "CLibFuzzer"], sources: ["Targets", "Replay"]))
    } else {
        package.targets += [
            .systemLibrary(name: "CLibFuzzer", path: "Fuzz/CLibFuzzer"),
            .executableTarget(
                name: "Fuzzer", dependencies: fuzzed + ["CLibFuzzer"], path: "Fuzz",
                exclude: besideSources + ["Replay", "CLibFuzzer"], sources: ["Targets", "Fuzzer"],
                linkerSettings: [.unsafeFlags(instrumentation + ["-sanitize=fuzzer", "-use-ld=lld"])]),
        ]
    }
}

// The C library takes part only in its own builds and in those for `make check`. `@c` needs Swift 6.3. `make library`
// makes a shared library of it: SwiftPM cannot put the runtime into one, and gives no control over what it exports.
#if compiler(>=6.3)
if Context.environment["VAULTFILE_LIBRARY"] != nil || !fuzzing.isEmpty {
    package.products.append(.library(name: "VaultC", type: .static, targets: ["VaultC"]))
    package.targets.append(
        .target(
            name: "VaultC", dependencies: ["VaultFile", "CPlatform", system],
            exclude: ["vaultfile.h", "libvaultfile.map", "libvaultfile.pc.in"],
            // A client of the library: it sees only what is public.
            packageAccess: false))
}
#endif

// The names of the test targets that are built: all by default. Without the tests of the command, the command and what
// only it needs are left out too: they are half of the time of a build with a sanitizer.
if let names = Context.environment["VAULTFILE_TESTS"]?.split(separator: " ").map(String.init) {
    package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
    if !names.contains("CommandTests") {
        let isMounting = names.contains("VaultMountTests")
        let command = ["VaultfileMain", "VaultCommand"] + (isMounting ? [] : ["VaultMount", "VaultArchive"])
        package.targets.removeAll { command.contains($0.name) }
        package.products.removeAll { $0.name == "vaultfile" }
    }
}

// `make check` optimises the library and what the tests share: they open containers many thousand times. The checks
// of unoptimised code stay.
let optimized = Context.environment["VAULTFILE_OPTIMIZED"] != nil

for target in package.targets where target.type != .system {
    target.swiftSettings = settings
    if optimized, target.name.hasPrefix("Vault"), target.type == .regular {
        target.swiftSettings? += [
            .unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))
        ]
    }
    guard !instrumentation.isEmpty else { continue }
    if target.name == "Fuzzer" {
        // libFuzzer supplies `main`.
        target.swiftSettings? += [.unsafeFlags(["-parse-as-library"])]
    } else if target.name.hasPrefix("Vault"), target.name != "VaultTestSupport" {
        // Nothing else is instrumented. Otherwise the fuzzer would count new paths in the tests as progress.
        target.swiftSettings? += [.unsafeFlags(instrumentation + ["-enable-testing"])]
    }
}
