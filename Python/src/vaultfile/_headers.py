"""Header files: the slots of a container, kept apart from it (Spec, chapter 23). Here they are bytes, from anywhere."""

from __future__ import annotations

from typing import Any, Optional

from ._keys import Keys, KeysHandle, Recipients, recipients_handle
from ._library import lib
from ._memory import Buffer, address, data, report
from ._options import HEADER, options_handle


def inspect_header(header: Buffer) -> dict[str, Any]:
    """What a header file shows without a key: `slots` with their IDs, `generation`, and more. Nothing of it is
    authenticated."""
    bytes_, count = address(header)
    return report(lib.vaultfile_inspect_header, bytes_, count)


def verify_header(header: Buffer, keys: Keys, **options: Any) -> dict[str, Any]:
    """Opens a header file by itself, without its body. Returns the same as `inspect_header`, authenticated, and the
    `pin`: with it, later calls refuse every older header file.

    Options: `context`, `header_pin`, limits."""
    opening = KeysHandle(keys)
    settings = options_handle(HEADER, options)
    bytes_, count = address(header)
    return report(lib.vaultfile_verify_header, bytes_, count, opening.value, settings.value, callbacks=(opening,))


def rotate_header(
    header: Buffer,
    keys: Keys,
    *,
    add: Optional[Recipients] = None,
    remove: Optional[Recipients] = None,
    **options: Any,
) -> bytes:
    """Changes who can open a container by its header file, in memory: returns the bytes of the new header file. They are
    those that were given if there is nothing to change. `inspect_header` shows the slots of both.

    Replace the old header file as a whole: in a file system by a rename, in an object store by a write that is made only
    if the object is still the one that was read. If it is not, read the new one and begin again. Store a key that you
    add durably before. Older versions of the object open the container with their keys until they are destroyed.

    Options: `remove_others` removes every slot, except those that the added recipients open; `lose_access` and
    `mix_recipients` consent to what a ConsentNeededError or an InvalidArgumentError names; `context`, `header_pin`,
    limits."""
    opening = KeysHandle(keys)
    adding, removing = recipients_handle(add), recipients_handle(remove)
    settings = options_handle(HEADER | {"lose_access", "mix_recipients", "remove_others"}, options)
    bytes_, count = address(header)

    def call(result: Any) -> Optional[int]:
        failed: Optional[int] = lib.vaultfile_rotate_header(
            bytes_, count, adding.value, removing.value, opening.value, settings.value, result, None)
        return failed

    return data(call, callbacks=(opening,))
