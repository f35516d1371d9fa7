"""Ctrl-C while the library runs.

A signal handler of Python runs between two instructions of Python. If that is at the first instruction of a callback of
ctypes, its exception is lost, and the library goes on as if the callback had succeeded: it would take a read that was
interrupted for the end of the file. So during a call SIGINT is only noted, by a method of a built-in type, in which no
instruction of Python runs. Where a callback runs code of the program, SIGINT raises KeyboardInterrupt as always. So it
does after the call, which a long call ends early.
"""

from __future__ import annotations

import signal
import threading
from types import TracebackType
from typing import Any, Callable, Optional

from ._errors import Callbacks, Raised, check
from ._library import ProgressCallback, lib


class _Held:
    """Notes SIGINT during a call. This is so for Python's own handler, in the main thread: no other handles signals."""

    #: The present one; None if no call runs, or if the program has a handler of its own.
    current: Optional[_Held] = None

    def __init__(self) -> None:
        self._noted: dict[int, Any] = {}
        self._outer: Optional[_Held] = None
        self._holds = False

    def hold(self) -> None:
        signal.signal(signal.SIGINT, self._noted.__setitem__)

    def release(self) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._noted:
            self._noted.clear()
            raise KeyboardInterrupt

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self.hold()
            self._holds = True
            self._outer, _Held.current = _Held.current, self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if self._holds:
            _Held.current = self._outer
            self.release()


class Released:
    """In a callback, around what the program runs there: SIGINT raises KeyboardInterrupt, also one that came before."""

    def __init__(self) -> None:
        self._held = _Held.current if threading.current_thread() is threading.main_thread() else None

    def __enter__(self) -> None:
        if self._held is not None:
            self._held.release()

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if self._held is not None:
            self._held.hold()


class Progress:
    """Hears how far a long call is, tells the program, and ends the call after a SIGINT."""

    def __init__(self, options: Any, told: Optional[Callable[[int], object]] = None) -> None:
        if told is not None and not callable(told):
            raise TypeError(f"progress is a function of a number, not {type(told).__name__}")
        self.raised = Raised()
        self._told = told
        # The library keeps its address.
        self._callback = ProgressCallback(self._hear)
        check(lib.vaultfile_options_set_progress(options.value, self._callback, None))

    def _hear(self, _: Any, done: int) -> int:
        try:
            with Released():
                if self._told is not None:
                    self._told(done)
            return 0
        except BaseException as error:
            return self.raised.keep(error)


def run(function: Callable[..., Optional[int]], *arguments: Any, callbacks: Any = ()) -> None:
    """Makes a call, and raises its error; or the exception of a callback, if it ended the call."""
    called: tuple[Callbacks, ...] = tuple(callbacks)
    with _Held():
        failed = function(*arguments)
    check(failed, *called)
