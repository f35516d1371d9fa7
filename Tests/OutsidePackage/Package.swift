// swift-tools-version: 6.2

import PackageDescription

// A client of the library, in a package of its own: it sees what other programs see. `make outside` builds and runs it,
// and checks that it uses every public symbol.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "outside",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "vaultfile", path: "../..")],
    targets: [
        .executableTarget(
            name: "UsesVaultFile", dependencies: [.product(name: "VaultFile", package: "vaultfile")],
            swiftSettings: settings),
        .executableTarget(
            name: "UsesVaultStore", dependencies: [.product(name: "VaultStore", package: "vaultfile")],
            swiftSettings: settings),
        .executableTarget(
            name: "UsesVaultStream", dependencies: [.product(name: "VaultStream", package: "vaultfile")],
            swiftSettings: settings),
    ]
)
