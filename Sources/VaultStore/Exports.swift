// Programs import one module.
@_exported public import VaultFile
