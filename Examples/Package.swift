// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "examples",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "vaultfile", path: "..")],
    targets: [
        .executableTarget(name: "Key", dependencies: [.product(name: "VaultFile", package: "vaultfile")]),
        .executableTarget(name: "Tokens", dependencies: [.product(name: "VaultStore", package: "vaultfile")]),
        .executableTarget(name: "Range", dependencies: [.product(name: "VaultFile", package: "vaultfile")]),
    ]
)
