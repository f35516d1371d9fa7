// swift-tools-version: 6.2

import PackageDescription

// The trait is passed on to vaultfile: with it libcrypto encrypts the records, with --disable-default-traits libsodium.
// `traits: []` leaves out the harness's own allocation counters, which need more packages. CAllocations counts instead.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    traits: [
        .trait(name: "LibCrypto"),
        .default(enabledTraits: ["LibCrypto"]),
    ],
    dependencies: [
        .package(
            name: "vaultfile", path: "..",
            traits: [.trait(name: "LibCrypto", condition: .when(traits: ["LibCrypto"]))]),
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.0", traits: []),
        .package(url: "https://github.com/apple/swift-system", from: "1.7.0"),
    ],
    targets: [
        .target(name: "CAllocations"),
        .executableTarget(
            name: "VaultBenchmarks",
            dependencies: [
                "CAllocations",
                .product(name: "Benchmark", package: "benchmark"),
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "VaultFile", package: "vaultfile"),
            ],
            path: "Benchmarks/VaultBenchmarks",
            swiftSettings: [
                .swiftLanguageMode(.v6), .treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"), .enableUpcomingFeature("MemberImportVisibility"),
            ],
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]),
        .executableTarget(
            name: "VaultTiming",
            dependencies: [.product(name: "VaultFile", package: "vaultfile")],
            path: "Benchmarks/VaultTiming",
            swiftSettings: [
                .swiftLanguageMode(.v6), .treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"), .enableUpcomingFeature("MemberImportVisibility"),
            ]),
    ]
)
