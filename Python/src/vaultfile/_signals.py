"""Signals while the library runs.

Python runs the handler of a signal in the main thread, between two of its instructions. If that is the first one of a
callback, the exception of the handler is lost, and the library sees a callback that has set no count: the call fails
with invalidArgument, or finds damage where there is none. If it is between a call and the line that keeps its result,
the result has no owner: a handle, or plaintext, stays in memory until the process ends.

So during a call signals are only noted, by a method of a built-in type, in which no instruction of Python runs. Where a
callback runs code of the program, the handlers are back, and hear first what was noted. So it is after the call, when
its result has an owner.
"""

from __future__ import annotations

import signal
import threading
from types import TracebackType
from typing import Any, Callable, Iterable, Optional, TypeVar

from ._errors import Callbacks, Raised, check
from ._library import ProgressCallback, lib

_Result = TypeVar("_Result")

# Without what Python puts around them, the names of handlers, which takes longer than a small call of the library.
_get: Callable[[int], Any] = getattr(signal.getsignal, "__wrapped__", signal.getsignal)
_set: Callable[[int, Any], Any] = getattr(signal.signal, "__wrapped__", signal.signal)

#: The signals whose handlers raise exceptions in programs. SIGINT is held first and given back last, so a second Ctrl-C
#: does not come between the others.
_SIGNALS = tuple(
    int(getattr(signal, name)) for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name))


class Held:
    """Notes signals that have a handler of Python. Other threads than the main one have nothing to do with signals."""

    #: That of the innermost call of the main thread.
    current: Optional[Held] = None

    def __init__(self) -> None:
        self._noted: dict[int, Any] = {}
        #: The handlers of the program, while they are not in place.
        self._handlers: dict[int, Any] = {}
        self._outer: Optional[Held] = None
        self._is_main = threading.current_thread() is threading.main_thread()

    def hold(self) -> None:
        """Holds all signals, even if the handler of one raises meanwhile."""
        try:
            self._hold()
        except BaseException:
            self._hold()
            raise

    def _hold(self) -> None:
        for number in _SIGNALS:
            handler = _get(number)
            # One that was installed from C is None: Python cannot put it back.
            if number not in self._handlers and callable(handler):
                self._handlers[number] = handler
                _set(number, self._noted.__setitem__)

    def release(self) -> None:
        """Gives all handlers back, and calls those of the noted signals: all of them, even if one raises."""
        try:
            self._give_back()
        except BaseException:
            # It is of a handler that was back before the others.
            self._give_back()
            raise
        finally:
            self._deliver()

    def _give_back(self) -> None:
        while self._handlers:
            number = next(reversed(self._handlers))
            _set(number, self._handlers[number])
            del self._handlers[number]

    def _deliver(self) -> None:
        if not self._noted:
            return
        number, frame = self._noted.popitem()
        try:
            # signal.raise_signal would also write to the descriptor of signal.set_wakeup_fd, a second time for this
            # signal: asyncio would run its handler twice.
            handler = _get(number)
            if callable(handler):
                handler(number, frame)
            else:
                # Another handler has taken this one away.
                signal.raise_signal(number)
        finally:
            self._deliver()

    def __enter__(self) -> None:
        if not self._is_main:
            return
        self._outer, Held.current = Held.current, self
        try:
            self._hold()
        except BaseException:
            Held.current = self._outer
            self.release()
            raise

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if self._is_main:
            Held.current = self._outer
            self.release()


class Released:
    """In a callback, around what the program runs there: its handlers are in place. Outside, exceptions of the handlers
    would be lost: so signals are held again, also if a handler raises here."""

    def __init__(self) -> None:
        self._held = Held.current if threading.current_thread() is threading.main_thread() else None

    def __enter__(self) -> None:
        if self._held is not None:
            try:
                self._held.release()
            except BaseException:
                self._held.hold()
                raise

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if self._held is not None:
            self._held.hold()


class Progress:
    """Hears how far a long call is, tells the program, and ends the call if the handler of a signal raises."""

    def __init__(self, options: Any, told: Optional[Callable[[int], object]] = None) -> None:
        if told is not None and not callable(told):
            raise TypeError(f"progress is a function of a number, not {type(told).__name__}")
        self.raised = raised = Raised()

        # Without `self`: a cycle would keep what the program gave until the garbage collector runs.
        def hear(_: Any, done: int) -> int:
            try:
                with Released():
                    if told is not None:
                        told(done)
                return 0
            except BaseException as error:
                return raised.keep(error)

        # The library keeps its address.
        self.callback: Any = ProgressCallback(hear)
        check(lib.vaultfile_options_set_progress(options.value, self.callback, None))


def call(
    result: Callable[[], _Result], function: Callable[..., Optional[int]], *arguments: Any,
    callbacks: Iterable[Callbacks] = (),
) -> _Result:
    """Makes a call, and raises its error; or the exception of a callback, if it ended the call. Otherwise `result`
    makes the owner of what it gave, before a signal can come between."""
    with Held():
        check(function(*arguments), *callbacks)
        return result()


def run(function: Callable[..., Optional[int]], *arguments: Any, callbacks: Iterable[Callbacks] = ()) -> None:
    """The same for a call without a result."""
    call(_nothing, function, *arguments, callbacks=callbacks)


def _nothing() -> None:
    return None
