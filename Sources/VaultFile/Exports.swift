// Programs import one module.
@_exported public import VaultFormat
@_exported public import VaultStream
@_exported public import VaultTar

// The types of the system that the API takes and gives.
@_exported public import struct SystemPackage.Errno
@_exported public import struct SystemPackage.FileDescriptor
@_exported public import struct SystemPackage.FilePath
@_exported public import struct SystemPackage.FilePermissions
