// Programs import one module: the values of the format belong to what a stream takes and gives.
@_exported public import VaultFormat
@_exported public import VaultTar
