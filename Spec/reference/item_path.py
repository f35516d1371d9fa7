"""The path of an item of a store (MEMBERS.md, 26)."""

from typing import Optional

LONGEST = 255


def item_path(value: bytes) -> Optional[bytes]:
    """PATH-1: None if the value breaks its form."""
    if not 1 <= len(value) <= LONGEST or any(part in (b"", b".", b"..") for part in value.split(b"/")):
        return None
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return value
