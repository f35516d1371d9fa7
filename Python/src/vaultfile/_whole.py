"""Calls on whole containers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Optional

from ._errors import about, about_its_path, path_bytes
from ._keys import Keys, KeysHandle, Recipients, recipients_handle, sealing_handle
from ._library import lib
from ._memory import Buffer, address, data, report
from ._options import (
    ReadFileOptions,
    ReadOptions,
    ReencryptOptions,
    RepairOptions,
    RotateOptions,
    SealFileOptions,
    SealOptions,
    VerifyOptions,
    options_handle,
)
from ._reader import RawReader
from ._signals import Progress, run
from ._sources import AnyPath, FileSource, Source, path_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


def encrypt(plaintext: Buffer, keys: Recipients, **options: Unpack[SealOptions]) -> bytes:
    """Encrypts bytes. The options are those of `open` for writing."""
    if isinstance(plaintext, str):
        raise TypeError("plaintext must be bytes, not str: text.encode()")
    recipients = sealing_handle(keys)
    settings = options_handle(SealOptions, options)
    bytes_, count = address(plaintext)
    return data(lib.vaultfile_encrypt, bytes_, count, recipients.value, settings.value)


def decrypt(container: Buffer, keys: Keys, **options: Unpack[ReadOptions]) -> bytes:
    """Decrypts a container in memory. Set `max_plaintext` for containers of strangers: a small compressed container can
    hold a large plaintext. The options are those of `open` for reading."""
    if isinstance(container, (str, os.PathLike)):
        raise TypeError("container must be bytes; for a path use decrypt_file or open")
    opening = KeysHandle(keys)
    settings = options_handle(ReadOptions, options)
    bytes_, count = address(container)
    return data(lib.vaultfile_decrypt, bytes_, count, opening.value, settings.value, callbacks=(opening,))


def encrypt_file(
    source: AnyPath, target: AnyPath, keys: Recipients, **options: Unpack[SealFileOptions]
) -> None:
    """Encrypts a file into a new file with mode 0600, which appears when it is complete. Several threads work.

    Options: those of `open` for writing, `replace`, `jobs`, the number of threads, and `progress`, a function that is
    called now and then with the number of bytes that are done: its exception, and Ctrl-C, end the call, and no file
    appears, or a complete one. Raises OutputExistsError unless `replace` is given."""
    recipients = sealing_handle(keys)
    settings = options_handle(SealFileOptions, options)
    with about(source, target):
        run(
            lib.vaultfile_encrypt_file, path_bytes(source), path_bytes(target), recipients.value, settings.value,
            callbacks=[Progress(settings, options.get("progress"))])


def decrypt_file(source: AnyPath, target: AnyPath, keys: Keys, **options: Unpack[ReadFileOptions]) -> None:
    """Decrypts a file into a new file with mode 0600, which appears when it is complete. Several threads work.

    Options: those of `open` for reading, `replace`, `jobs`, `progress`, as for `encrypt_file`, and `sparse`: blocks of
    zeros become holes, which take no room on the disk. Raises OutputExistsError unless `replace` is given."""
    opening = KeysHandle(keys)
    settings = options_handle(ReadFileOptions, options)
    with about(source, target, options.get("header")):
        run(
            lib.vaultfile_decrypt_file, path_bytes(source), path_bytes(target), opening.value, settings.value,
            callbacks=[opening, Progress(settings, options.get("progress"))])


@about_its_path
def verify(source: Source, keys: Keys, **options: Unpack[VerifyOptions]) -> dict[str, Any]:
    """Reads and authenticates every byte of a container: of a path or a seekable file object. Returns what the
    container says of itself (`health`, `manifest`, `header`), or raises the error of the first damage.

    Options: those of `open` for reading, `jobs`, and `progress`, as for `encrypt_file`."""
    told, jobs = options.pop("progress", None), options.pop("jobs", None)
    with RawReader(source, keys, **options) as reader:  # type: ignore[misc]
        reader._verify(told, jobs)
        return reader.info()


@about_its_path
def inspect(source: Source) -> dict[str, Any]:
    """What a container shows without a key; nothing of it is authenticated. `source` is a path or a seekable file
    object; for bytes in memory use io.BytesIO."""
    path = path_of(source)
    if path is not None:
        return report(lib.vaultfile_inspect_path, path)
    file = FileSource(source)
    return report(lib.vaultfile_inspect_callback, file.callback, None, file.size, callbacks=(file,))


@about_its_path
def rotate(
    path: AnyPath,
    keys: Keys,
    *,
    add: Optional[Recipients] = None,
    remove: Optional[Recipients] = None,
    **options: Unpack[RotateOptions],
) -> dict[str, Any]:
    """Changes who can open a container, in place, by two small writes. An interrupted call loses nothing, and the same
    call again finishes it. Store a key that you add durably before.

    Options: `remove_others` removes every slot, except those that the added recipients open; `lose_access`, `break_links` and
    `mix_recipients` consent to what a ConsentNeededError names; `keep_copy`, `dry_run`, `context`, `pin`, limits;
    `progress`, as for `encrypt_file`, which hears how much of the container is copied, if it has to be.

    Returns a report with `added`, `removed`, `kept` and `header`."""
    opening = KeysHandle(keys)
    adding, removing = recipients_handle(add), recipients_handle(remove)
    settings = options_handle(RotateOptions, options)
    return report(
        lib.vaultfile_rotate, path_bytes(path), adding.value, removing.value, opening.value, settings.value,
        callbacks=(opening, Progress(settings, options.get("progress"))))


@about_its_path
def repair(path: AnyPath, keys: Keys, **options: Unpack[RepairOptions]) -> dict[str, Any]:
    """Makes both header copies and the end of a container whole again. It does not read the contents.

    Options: `break_links` and `lose_access` consent to what a ConsentNeededError names; `keep_copy`, `dry_run`,
    `context`, `pin`, limits, and `progress`, as for `rotate`."""
    opening = KeysHandle(keys)
    settings = options_handle(RepairOptions, options)
    return report(
        lib.vaultfile_repair, path_bytes(path), opening.value, settings.value,
        callbacks=(opening, Progress(settings, options.get("progress"))))


@about_its_path
def reencrypt(
    path: AnyPath, keys: Keys, recipients: Recipients, *, drop: Optional[Recipients] = None,
    **options: Unpack[ReencryptOptions]
) -> dict[str, Any]:
    """Encrypts the contents again under a new file key, for these recipients only. Needed if a key has leaked.

    `drop` names slots that may be lost. A container with a header file, whose path is `header`, gets a new one in the same
    folder: the report has its path, `headerFile`, and `headerPin`. Options: `remove_others`, `lose_slots`,
    `keep_slots`, `jobs` and `progress`, as for `encrypt_file`, those of `rotate`, and those of `open` for writing."""
    opening = KeysHandle(keys)
    to, dropping = recipients_handle(recipients), recipients_handle(drop)
    settings = options_handle(ReencryptOptions, options)
    return report(
        lib.vaultfile_reencrypt, path_bytes(path), to.value, dropping.value, opening.value, settings.value,
        callbacks=(opening, Progress(settings, options.get("progress"))))
