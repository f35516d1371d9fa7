// One import gives a program the whole library: the values of the format and the streaming codec come with the files.
@_exported public import VaultFormat
@_exported public import VaultStream
