"""Changes who can open very many containers, by their header files, wherever these are.

`rotate` takes names and gives a result for each, so an engine can map it over the parts of an inventory:

    change = fleet.Change(keys=KeyFile("/run/keys/old.key"), add=KeyFile("/run/keys/new.key"), remove=SlotID(old_id))
    results = inventory.mapPartitions(lambda names: fleet.rotate(names, fleet.S3Headers("headers"), change))

Documentation/Fleet.md says how, and what is guaranteed.
"""

from __future__ import annotations

import enum
import json
import os
import random
import time
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from types import TracebackType
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, TextIO, Union

from ._errors import DamagedError, Error, InUseError, NotVaultfileError, WrongKeyError
from ._headers import inspect_header, rotate_header, rotate_header_file
from ._keys import Keys, KeysHandle, Opener, Recipients, recipients_handle
from ._stores import MOST, Conflict, FsspecHeaders, Missing, S3Headers, Store, TooLarge, Usage
from ._whole import inspect
from ._whole import rotate as rotate_file

__all__ = [
    "Change", "Conflict", "Containers", "Count", "FsspecHeaders", "HeaderFiles", "Log", "Missing", "Outcome", "Result",
    "S3Headers", "Store", "TooLarge", "Usage", "count", "rotate",
]


class Outcome(str, enum.Enum):
    """What has become of an object."""

    ROTATED = "rotated"
    #: There was nothing to change, as after an earlier run.
    CURRENT = "current"
    #: No given key opens it.
    NO_KEY = "no key fits"
    MISSING = "missing"
    DAMAGED = "damaged"
    #: Others wrote it at every try. Their header is there.
    CONFLICT = "conflict"
    #: The store, the network or a rule refused; `error` says what. The next run finds out whether it was written.
    FAILED = "failed"


#: Those after which nothing is left to do.
DONE = frozenset({Outcome.ROTATED, Outcome.CURRENT})


@dataclass(frozen=True)
class Change:
    """Who shall open the containers.

    `keys` open the header files. What is added and can open is tried too, so a second run finds everything current.
    `add`, `remove` and `options` are those of `vaultfile.rotate_header`; for `Containers`, of `vaultfile.rotate`.

    Each of the three can be a function of no arguments. It is called where the work is done, once for each part of an
    inventory, so secrets are never pickled: KeyFile, IdentityFile, Recipient, SlotID and functions can be, and other
    secrets refuse to be.
    """

    keys: Union[Keys, Callable[[], Keys]]
    add: Union[Recipients, Callable[[], Recipients], None] = None
    remove: Union[Recipients, Callable[[], Recipients], None] = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def _resolved(self) -> Change:
        keys, add, remove = (_list(item() if callable(item) else item) for item in (self.keys, self.add, self.remove))
        keys += [item for item in add if isinstance(item, Opener) and not any(item is other for other in keys)]
        # A key file that is missing here ends the run. It is not an error of the first object.
        KeysHandle(keys)
        recipients_handle(add), recipients_handle(remove)
        return replace(self, keys=keys, add=add, remove=remove)


def _list(given: Any) -> list[Any]:
    if given is None:
        return []
    # A keyring is one of several keys, although its entries can be listed.
    return list(given) if isinstance(given, (list, tuple, set, frozenset)) else [given]


@dataclass(frozen=True)
class Result:
    """What has become of one object. `before` and `after` are the IDs of its slots."""

    name: str
    outcome: Outcome
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    tries: int = 1
    requests: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    error: str = ""

    def as_dict(self) -> dict[str, Any]:
        """As JSON and data frames take it."""
        return {**asdict(self), "outcome": self.outcome.value, "before": list(self.before), "after": list(self.after)}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Result:
        return cls(**{
            **found, "outcome": Outcome(found["outcome"]), "before": tuple(found["before"]),
            "after": tuple(found["after"])})


@dataclass(frozen=True)
class Containers:
    """Containers on a local disk, by their paths. The library changes both of their header copies in place."""


@dataclass(frozen=True)
class HeaderFiles:
    """Header files on a local disk, by their paths. Each is replaced by `vaultfile.rotate_header_file`."""


def rotate(
    names: Iterable[str], store: Union[Store, Containers, HeaderFiles], change: Change, *, tries: int = 5,
    log: Optional[Log] = None
) -> Iterator[Result]:
    """Rotates the header files of these names, one after the other, and gives a result for each as it is done.

    An error of one object is its result, and the next one follows. An error of `change`, such as a missing key file, is
    raised. It can be stopped at every point, and called again with the same names: what is done is found current.

    After a lost race the new header is read and rotated again, at most `tries` times. With `log`, names that are done in
    it are left out, and give no result; each result is written to it."""
    if tries < 1:
        raise ValueError("tries is at least 1")
    if isinstance(names, (str, bytes)):
        raise TypeError("names are several: a list with one name is one")
    if isinstance(store, (type, Change)) or not isinstance(change, Change):
        raise TypeError("rotate takes names, a store such as HeaderFiles(), and a Change")
    change = change._resolved()
    for name in names:
        if log is not None and name in log.done:
            continue
        if isinstance(store, (Containers, HeaderFiles)):
            result = _file(name, store, change, tries)
        else:
            result = _header(name, store, change, tries)
        if log is not None:
            log.write(result)
        yield result


def _header(name: str, store: Store, change: Change, tries: int) -> Result:
    usage = Usage()
    before: tuple[str, ...] = ()
    written: Optional[bytes] = None
    count = 0

    def result(outcome: Outcome, after: tuple[str, ...] = (), error: str = "") -> Result:
        return Result(
            name, outcome, before, after or before, count, usage.requests, usage.bytes_read, usage.bytes_written, error)

    while True:
        count += 1
        try:
            header, version = store.read(name, usage)
            # A client repeats a write whose answer was lost. The store refuses the repetition, because the first one
            # came in. The nonces of a header are random: nobody else writes these bytes.
            if header == written:
                return result(Outcome.ROTATED, _ids(header))
            before = _ids(header)
            written = _rotated(header, change)
            if written == header:
                return result(Outcome.CURRENT)
            store.replace(name, written, version, usage)
            return result(Outcome.ROTATED, _ids(written))
        except Missing:
            return result(Outcome.MISSING)
        except TooLarge:
            return result(Outcome.DAMAGED, error="it is larger than a header file can be")
        except Conflict:
            if count >= tries:
                return result(Outcome.CONFLICT, error="others wrote it at every try")
            _wait(count)
        except Error as error:
            _raise_of_keys(error, None)
            return result(_outcome(error), error=str(error))
        except Exception as error:
            if isinstance(error, TypeError):
                raise
            return result(Outcome.FAILED, error=f"{type(error).__name__}: {error}")


def _rotated(header: bytes, change: Change) -> bytes:
    return rotate_header(
        header, change.keys, add=change.add, remove=change.remove, **change.options)  # type: ignore[arg-type]


def _ids(header: bytes) -> tuple[str, ...]:
    return tuple(slot.get("id", "") for slot in inspect_header(header)["slots"])


def _file(name: str, store: Union[Containers, HeaderFiles], change: Change, tries: int) -> Result:
    """A file, which the library locks and replaces or changes in place."""
    before: tuple[str, ...] = ()
    read = count = 0
    while True:
        count += 1
        try:
            if isinstance(store, HeaderFiles):
                with open(name, "rb") as file:
                    header = file.read(MOST + 1)
                if len(header) > MOST:
                    return Result(name, Outcome.DAMAGED, error="it is larger than a header file can be")
                read += len(header)
                before = _ids(header)
                rotated = rotate_header_file
            else:
                shown = inspect(name)
                before = next((
                    tuple(slot.get("id", "") for slot in shown[place].get("slots", ()))
                    for place in ("front", "tail") if shown.get(place, {}).get("status") == "intact"), ())
                rotated = rotate_file
            report = rotated(
                name, change.keys, add=change.add, remove=change.remove, **change.options)  # type: ignore[arg-type]
            break
        except (FileNotFoundError, NotADirectoryError) as error:
            _raise_of_keys(error, name)
            return Result(name, Outcome.MISSING)
        except InUseError as error:
            if count >= tries:
                return Result(name, Outcome.CONFLICT, before, before, count, bytes_read=read, error=str(error))
            _wait(count)
        except Error as error:
            _raise_of_keys(error, name)
            return Result(name, _outcome(error), before, before, count, bytes_read=read, error=str(error))
        except (OSError, ValueError) as error:
            # A name that is no path, or a file that cannot be read. An error of the arguments is a TypeError.
            return Result(name, Outcome.FAILED, before, before, count, bytes_read=read, error=str(error))
    after = tuple(slot.get("id", "") for slot in report["header"]["slots"])
    is_new = report["newHeader"]
    written = len(header) if is_new and isinstance(store, HeaderFiles) else 0
    return Result(
        name, Outcome.ROTATED if is_new else Outcome.CURRENT, before, after, count, bytes_read=read,
        bytes_written=written)


def _raise_of_keys(error: BaseException, name: Optional[str]) -> None:
    """Raises the error of another file than that of this name: of a key file. It is not the object that is missing."""
    if isinstance(error, OSError) and error.filename not in (None, name):
        raise error


def _wait(count: int) -> None:
    time.sleep(random.uniform(0, 0.02 * 2 ** min(count, 8)))


def _outcome(error: Error) -> Outcome:
    if isinstance(error, WrongKeyError):
        return Outcome.NO_KEY
    return Outcome.DAMAGED if isinstance(error, (DamagedError, NotVaultfileError)) else Outcome.FAILED


@dataclass
class Count:
    """Sums of results. Two of them can be added, so an engine can reduce them."""

    outcomes: Counter[str] = field(default_factory=Counter)
    #: Objects by the ID of a slot that they have now.
    keys: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    bytes_read: int = 0
    bytes_written: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(
            self.outcomes + other.outcomes, self.keys + other.keys, self.requests + other.requests,
            self.bytes_read + other.bytes_read, self.bytes_written + other.bytes_written)


def count(results: Iterable[Result]) -> Count:
    """The sums of results: objects by outcome and by key ID, requests and bytes."""
    sums = Count()
    for result in results:
        sums.outcomes[result.outcome.value] += 1
        sums.keys.update(set(result.after))
        sums.requests += result.requests
        sums.bytes_read += result.bytes_read
        sums.bytes_written += result.bytes_written
    return sums


class Log:
    """A file of results, a line of JSON each, from which a later run goes on. It is for one process and one change.

    `run` names the change. A log of another run is refused: what is done there is not done here."""

    def __init__(self, path: Union[str, os.PathLike[str]], run: str) -> None:
        self.path = os.fspath(path)
        #: Names of objects that are done.
        self.done: set[str] = set()
        self._file: TextIO = open(self.path, "a+", encoding="utf-8")
        try:
            self._read(run)
        except BaseException:
            self._file.close()
            raise

    def _read(self, run: str) -> None:
        self._file.seek(0)
        lines = self._file.read().split("\n")
        # An interrupted write leaves a part of a line. The object is then worked on again.
        torn = lines.pop()
        first = json.dumps({"run": run})
        # Judged before anything is cut: the file may be another one.
        if not (lines[0] == first if lines else first.startswith(torn)):
            raise ValueError(f"{self.path} is not the log of the run {run!r}")
        if torn:
            self._file.truncate(sum(len(line.encode()) + 1 for line in lines))
        if not lines:
            self._append({"run": run})
            return
        for line in lines[1:]:
            result = Result.from_dict(json.loads(line))
            if result.outcome in DONE:
                self.done.add(result.name)

    def _append(self, item: dict[str, Any]) -> None:
        self._file.write(json.dumps(item) + "\n")
        self._file.flush()

    def write(self, result: Result) -> None:
        """Adds a result."""
        self._append(result.as_dict())
        if result.outcome in DONE:
            self.done.add(result.name)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()
