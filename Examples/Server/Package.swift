// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "server",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "vaultfile", path: "../.."),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.0.0"),
    ],
    targets: [
        .target(
            name: "Storage",
            dependencies: [
                .product(name: "VaultFile", package: "vaultfile"),
                .product(name: "VaultStore", package: "vaultfile"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ]),
        .executableTarget(name: "Server", dependencies: ["Storage"]),
        .executableTarget(name: "Uploads", dependencies: ["Storage"]),
        .testTarget(
            name: "StorageTests",
            dependencies: ["Storage", .product(name: "HummingbirdTesting", package: "hummingbird")]),
    ]
)
