"""The errors of vaultfile, with the names that the specification has."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import errno as _errno
import functools
import itertools
import os
from typing import Any, Callable, Iterator, Optional, Protocol, TypeVar, cast

from ._library import lib


class Error(Exception):
    """Something went wrong.

    `name` is the name of the error in the specification, such as ``"wrongKey"``. `message` says which check failed.
    `offset` is its place in the container in bytes, and `record` the index of the record, if there is one. `path` is the
    file that it is about, if the call had a path.
    """

    name: str = "other"
    status: int = 199
    message: str = ""
    offset: Optional[int] = None
    record: Optional[int] = None
    path: Optional[str] = None

    def __str__(self) -> str:
        places = [f"record {self.record}" if self.record is not None else "",
                  f"at byte {self.offset}" if self.offset is not None else ""]
        place = ", ".join(text for text in places if text)
        return ": ".join(part for part in (self.name, self.path, place, self.message) if part)


class DamagedError(Error):
    """The container is damaged, was changed, or breaks a rule of the format."""


class UnsupportedError(Error):
    """The container needs something that this library does not have."""


class NotVaultfileError(Error):
    """The input is not a container."""


class WrongKeyError(Error):
    """No given secret opens it."""


class HeaderDetachedError(Error):
    """The slots of the container are in a header file, and none was given: `header=`."""


class UnexpectedStateError(Error):
    """The header is not of the state that the pin requires."""


class LimitExceededError(Error):
    """It would cost more than the limits allow."""


class RangeInvalidError(Error, ValueError):
    """A range is not within the plaintext."""


class BadKeyError(Error, ValueError):
    """A text or bytes are no key, no passphrase, no recipient or no identity."""


class InvalidArgumentError(Error, ValueError):
    """An argument, or a combination of arguments, is wrong."""


class ConsentNeededError(Error):
    """A person would lose access. The call has an argument that allows it."""


class KeyringError(Error):
    """A keyring cannot be used or changed like this."""


class NoSuchKeyError(KeyringError, KeyError):
    """The keyring does not have it."""


class SystemCallError(Error, OSError):
    """A file cannot be read or written. `errno` says why, if the system gave a reason."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Of these three, OSError pickles only what its arguments have: other processes get all.
        return _remade, (type(self), self.args, dict(self.__dict__), self.errno, self.strerror, self.filename)


def _remade(
    kind: type[SystemCallError], arguments: Any, kept: Any, number: Any, text: Any, path: Any
) -> SystemCallError:
    error = kind(*arguments)
    error.__dict__.update(kept)
    error.errno, error.strerror, error.filename = number, text, path
    return error


class MissingFileError(SystemCallError, FileNotFoundError):
    """A file is missing."""


class ForbiddenFileError(SystemCallError, PermissionError):
    """A file may not be read or written."""


class OutputExistsError(SystemCallError, FileExistsError):
    """The output exists."""


class InUseError(SystemCallError, BlockingIOError):
    """Another process changes the file at this moment."""


class OutOfMemoryError(Error, MemoryError):
    """The system has no memory left."""


_CLASSES: dict[str, type[Error]] = {
    "notVaultfile": NotVaultfileError,
    "wrongKey": WrongKeyError,
    "headerDetached": HeaderDetachedError,
    "unexpectedState": UnexpectedStateError,
    "limitExceeded": LimitExceededError,
    "rangeInvalid": RangeInvalidError,
    "consentNeeded": ConsentNeededError,
    "lastSlot": ConsentNeededError,
    "hardLinks": ConsentNeededError,
    "noSuchKey": NoSuchKeyError,
    "outputExists": OutputExistsError,
    "inUse": InUseError,
    "memoryUnavailable": OutOfMemoryError,
}
for _name in (
    "headerDamaged headerMalformed copiesDisagree headerForged recordDamaged manifestMalformed manifestMismatch "
    "contentMismatch packingMalformed paddingNotZero footerDamaged truncated trailingData indexMismatch"
).split():
    _CLASSES[_name] = DamagedError
for _name in (
    "unsupportedVersion unsupportedSuite unsupportedCompression unsupportedFlags unsupportedMember pluginFailed"
).split():
    _CLASSES[_name] = UnsupportedError
for _name in "badKey badPassphrase".split():
    _CLASSES[_name] = BadKeyError
for _name in "badContext tooLarge doesNotFit mixedRecipients notDetached invalidArgument".split():
    _CLASSES[_name] = InvalidArgumentError
for _name in (
    "keyringMalformed keyringMismatch keyringUnprotected keyringProtected keyDestroyed noCurrentKey keyExists "
    "keyNameTaken keyStoreUnavailable"
).split():
    _CLASSES[_name] = KeyringError

_BY_ERRNO: dict[int, type[Error]] = {
    _errno.ENOENT: MissingFileError,
    _errno.ENOTDIR: MissingFileError,
    _errno.EACCES: ForbiddenFileError,
    _errno.EPERM: ForbiddenFileError,
}


def _text(bytes_: Optional[bytes]) -> str:
    return (bytes_ or b"").decode("utf-8", "replace")


def take(handle: int) -> Error:
    """Makes an exception of an error of the library, and frees the error."""
    try:
        name = _text(lib.vaultfile_error_name(handle))
        number = lib.vaultfile_error_errno(handle)
        message = _text(lib.vaultfile_error_message(handle))
        if name in ("inputFailed", "outputFailed", "outputNotReplaceable"):
            kind = _BY_ERRNO.get(number, SystemCallError)
        else:
            kind = _CLASSES.get(name, Error)
        error = kind(number, os.strerror(number)) if number and issubclass(kind, OSError) else kind(message)
        error.name, error.message = name, message
        error.status = lib.vaultfile_error_status(handle)
        place = ctypes.c_uint64()
        if lib.vaultfile_error_offset(handle, ctypes.byref(place)):
            error.offset = place.value
        if lib.vaultfile_error_record(handle, ctypes.byref(place)):
            error.record = place.value
        if isinstance(error, OSError) and not number:
            error.strerror = message
        return error
    finally:
        lib.vaultfile_error_free(handle)


#: How the library begins the message of such an error.
_OF_HEADER = "its header file: "


@contextlib.contextmanager
def about(path: Any, target: Any = None, header: Any = None) -> Iterator[None]:
    """Gives errors within it the path that they are about: `target` if it is the output that failed, and `header` if it
    is the header file of the container."""
    try:
        yield
    except Error as error:
        if error.message.startswith(_OF_HEADER):
            name_path(error, header)
        name_path(error, target if target is not None and error.name.startswith("output") else path)
        raise


def name_path(error: Error, path: Any) -> None:
    """Gives an error the path that it is about, unless it has one."""
    if error.path is None and isinstance(path, (str, bytes, os.PathLike)):
        found = os.fsdecode(path)
        if "\0" in found:
            # The bytes of a container, and no path.
            return
        error.path = found
        if isinstance(error, OSError):
            error.filename = error.path


def invalid(message: str, name: str = "invalidArgument") -> Error:
    """The error of an argument that is found wrong before the library sees it."""
    error = _CLASSES[name](message)
    error.name, error.message = name, message
    return error


@contextlib.contextmanager
def of_system(path: Any, name: str) -> Iterator[None]:
    """Makes the errors of Python's own calls with a file those of this package; `name` is inputFailed or outputFailed."""
    try:
        yield
    except Error:
        raise
    except OSError as error:
        raise _of_system(error, path, name) from error


def _of_system(error: OSError, path: Any, name: str) -> Error:
    kind = OutputExistsError if isinstance(error, FileExistsError) else _BY_ERRNO.get(error.errno or 0, SystemCallError)
    made = kind(error.errno, error.strerror)
    made.name = "outputExists" if kind is OutputExistsError else name
    made.message = error.strerror or str(error)
    name_path(made, path)
    return made


_Call = TypeVar("_Call", bound=Callable[..., Any])


def about_its_path(function: _Call) -> _Call:
    """The same for a function whose first argument may be a path, and whose option `header` that of a header file."""
    @functools.wraps(function)
    def call(path: Any, *arguments: Any, **options: Any) -> Any:
        with about(path, header=options.get("header")):
            return function(path, *arguments, **options)

    return cast(_Call, call)


def about_its_paths(function: _Call) -> _Call:
    """The same if `header` is the third argument."""
    @functools.wraps(function)
    def call(path: Any, keys: Any, header: Any = None, **options: Any) -> Any:
        with about(path, header=header):
            return function(path, keys, header, **options)

    return cast(_Call, call)


#: The statuses of all callbacks. A call can have several, and the library tells only the status of the one that ended it.
_statuses = itertools.count(1)


class Raised:
    """The exceptions that callbacks raised, each under the status that the library got for it.

    Threads can share callbacks: each of their calls takes its own exception."""

    #: A call ends with the exception of one callback, and others of its threads may have raised more.
    _MOST = 1024

    def __init__(self) -> None:
        self._kept: collections.OrderedDict[int, BaseException] = collections.OrderedDict()

    def keep(self, error: BaseException) -> int:
        """Returns the status for the library."""
        status = next(_statuses) % (1 << 30) + 1
        self._kept[status] = error
        if len(self._kept) > self._MOST:
            self._kept.popitem(last=False)
        return status

    def take(self, status: int) -> Optional[BaseException]:
        return self._kept.pop(status, None)


class Callbacks(Protocol):
    """What has callbacks, and the exceptions that they raised."""

    raised: Raised


def path_bytes(path: Any) -> bytes:
    """A path as the system has it.

    Raises ValueError for one with a zero byte: the library would see another path."""
    found = os.fsencode(path)
    if b"\0" in found:
        raise invalid("a path has no zero byte; io.BytesIO makes a file object of the bytes of a container")
    return found


def check(handle: Optional[int], *callbacks: Callbacks) -> None:
    """Raises the error of a call, if there is one; or the exception of a callback, if it ended the call."""
    if not handle:
        return
    status = lib.vaultfile_error_callback(handle)
    error = take(handle)
    for called in callbacks if error.name == "callbackFailed" else ():
        raised = called.raised.take(status)
        if raised is not None:
            raise raised
    if error.name == "wrongKey" and any(getattr(called, "is_empty", False) for called in callbacks):
        error.message = "no keys were given"
    raise error
