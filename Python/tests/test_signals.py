"""Ctrl-C, and the progress of long calls."""

import asyncio
import contextlib
import faulthandler
import gc
import io
import os
import random
import signal
import sys
import threading
import time

import pytest

import vaultfile
from vaultfile import _signals
from vaultfile._memory import make
from vaultfile._library import lib

KEY = vaultfile.Key.generate()
PLAIN = os.urandom(1 << 23)


class Source(io.BytesIO):
    """A file object that says when it is read."""

    def __init__(self, bytes_):
        super().__init__(bytes_)
        self.was_read = threading.Event()

    def read(self, count=-1):
        self.was_read.set()
        return super().read(count)


def interrupt_when(event):
    def wait():
        event.wait()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


@pytest.mark.parametrize("call", ["verify", "damage", "read"])
def test_an_interrupt_is_no_damage(call):
    container = vaultfile.encrypt(PLAIN, KEY)
    for _ in range(10):
        source = Source(container)
        with vaultfile.open(source, keys=KEY) as file:
            source.was_read.clear()
            thread = interrupt_when(source.was_read)
            with pytest.raises(KeyboardInterrupt):
                for _ in range(1000):
                    file.seek(0)
                    getattr(file, call)()
            thread.join()
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
            assert file.read_at(5, 5) == PLAIN[5:10]


def test_a_signal_before_a_callback_is_not_lost():
    settings = make(lib.vaultfile_options_new, lib.vaultfile_options_free)
    heard = []
    progress = _signals.Progress(settings, heard.append)
    callback = progress.callback
    with _signals.Held():
        signal.raise_signal(signal.SIGINT)
        status = callback(None, 1)
        assert status != 0 and heard == []
        assert isinstance(progress.raised.take(status), KeyboardInterrupt)
        assert callback(None, 2) == 0 and heard == [2]
    with pytest.raises(KeyboardInterrupt):
        with _signals.Held():
            signal.raise_signal(signal.SIGINT)
            heard.append("no exception during the call")
    assert heard[-1] == "no exception during the call"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_interrupt_in_one_call_is_not_lost():
    settings = make(lib.vaultfile_options_new, lib.vaultfile_options_free)
    heard = []
    progress = _signals.Progress(settings, heard.append)
    with _signals.Held():
        for _ in range(3):
            # It would be raised here if it were not held, and lost at the first instruction of a callback.
            signal.raise_signal(signal.SIGINT)
            status = progress.callback(None, 1)
            assert status != 0 and isinstance(progress.raised.take(status), KeyboardInterrupt)
        assert progress.callback(None, 2) == 0 and heard == [2]


def linger():
    """Until a signal comes. One that comes just before a sleep does not end the sleep."""
    for _ in range(1000):
        time.sleep(0.01)


@contextlib.contextmanager
def handlers(**given):
    before = {name: signal.signal(getattr(signal, name), handler) for name, handler in given.items()}
    try:
        yield
        for name, handler in given.items():
            assert signal.getsignal(getattr(signal, name)) is handler
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def leave(*_):
    sys.exit("the program ends")


def time_out(*_):
    raise TimeoutError


def test_a_handler_of_the_program_stays():
    seen = []
    with handlers(SIGINT=lambda *_: seen.append(1), SIGUSR1=lambda *_: seen.append(2), SIGUSR2=signal.SIG_IGN):
        with _signals.Held():
            for number in (signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2):
                signal.raise_signal(number)
            assert seen == []
        assert sorted(seen) == [1, 2]


def test_no_signal_is_lost_when_one_raises():
    seen = []
    with handlers(SIGTERM=leave, SIGALRM=time_out, SIGUSR1=lambda *_: seen.append(1)):
        with pytest.raises((SystemExit, TimeoutError, KeyboardInterrupt)) as raised:
            with _signals.Held():
                for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
                    signal.raise_signal(number)
        found, error = set(), raised.value
        while error is not None:
            found.add(type(error))
            error = error.__context__
        assert seen == [1] and found == {SystemExit, TimeoutError, KeyboardInterrupt}
        del error, raised
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_that_takes_another_one_away():
    seen = []

    def first(*_):
        signal.signal(signal.SIGUSR1, lambda *_: seen.append("new"))
        seen.append("first")

    with handlers(SIGUSR2=first):
        with contextlib.ExitStack() as stack:
            stack.callback(signal.signal, signal.SIGUSR1, signal.getsignal(signal.SIGUSR1))
            signal.signal(signal.SIGUSR1, lambda *_: seen.append("old"))
            with _signals.Held():
                signal.raise_signal(signal.SIGUSR1)
                signal.raise_signal(signal.SIGUSR2)
            assert seen == ["first", "new"]
            # It is the one that stays.
            signal.raise_signal(signal.SIGUSR1)
            assert seen[-1] == "new"


def test_a_handler_from_c_is_left_alone(tmp_path):
    with open(tmp_path / "trace", "w+") as file:
        faulthandler.register(signal.SIGUSR1, file=file)
        try:
            with _signals.Held():
                signal.raise_signal(signal.SIGUSR1)
            file.seek(0)
            assert "test_a_handler_from_c" in file.read()
        finally:
            faulthandler.unregister(signal.SIGUSR1)


@pytest.mark.parametrize("number, handler, kind", [
    ("SIGTERM", leave, SystemExit), ("SIGALRM", time_out, TimeoutError), ("SIGINT", signal.default_int_handler,
                                                                          KeyboardInterrupt)])
def test_a_handler_that_raises_is_no_damage(number, handler, kind):
    """Wherever in the call it comes."""
    generator, container, ended = random.Random(6), vaultfile.encrypt(PLAIN[: 1 << 21], KEY), 0
    with handlers(**{number: handler}), vaultfile.open(io.BytesIO(container), keys=KEY) as file:
        start = time.monotonic()
        file.damage(jobs=2)
        longest = min(0.05, time.monotonic() - start)
        for _ in range(100):
            wait = generator.uniform(0, longest)
            begin = threading.Event()

            def send():
                begin.wait()
                time.sleep(wait)
                os.kill(os.getpid(), getattr(signal, number))

            thread = threading.Thread(target=send)
            try:
                thread.start()
                begin.set()
                assert file.damage(jobs=2) == []
                linger()
            except kind:
                ended += 1
            thread.join()
        assert ended == 100
        assert file.read_at(5, 5) == PLAIN[5:10]


def test_calls_within_calls():
    inner, outer = vaultfile.encrypt(KEY_BYTES, KEY), vaultfile.encrypt(b"x", vaultfile.Key(KEY_BYTES))
    asked = []

    def ask(kind, ids):
        asked.append(kind)
        if len(asked) == 2:
            signal.raise_signal(signal.SIGINT)
        return [vaultfile.Key(vaultfile.decrypt(inner, vaultfile.AskForKeys(ask_inner)))]

    def ask_inner(kind, ids):
        asked.append(kind)
        if len(asked) == 4:
            signal.raise_signal(signal.SIGINT)
        return KEY

    assert vaultfile.decrypt(outer, vaultfile.AskForKeys(ask)) == b"x" and len(asked) == 2
    for count in (1, 2):
        # In the outer function, and then in the inner one.
        asked[:] = [None] * count
        with pytest.raises(KeyboardInterrupt):
            vaultfile.decrypt(outer, vaultfile.AskForKeys(ask))
        assert _signals.Held.current is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler


KEY_BYTES = bytes(range(32))


def test_other_threads_finish():
    """Handlers run in the main thread: a call of another thread goes on."""
    container, found = vaultfile.encrypt(PLAIN, KEY), []
    source = Source(container)
    file = vaultfile.open(source, keys=KEY)
    source.was_read.clear()

    def work():
        file.verify()
        found.append(file.read_at(5, 5))

    thread = threading.Thread(target=work)
    with pytest.raises(KeyboardInterrupt):
        thread.start()
        source.was_read.wait()
        signal.raise_signal(signal.SIGINT)
        linger()
    thread.join()
    assert found == [PLAIN[5:10]]


def test_asyncio_hears_a_signal_once():
    seen = []

    async def main():
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, seen.append, 1)
        with _signals.Held():
            signal.raise_signal(signal.SIGUSR1)
        await asyncio.sleep(0.01)

    asyncio.run(main())
    assert seen == [1]


def interrupt_after(seconds):
    def wait():
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=wait).start()


def test_an_interrupted_call_leaves_nothing(tmp_path):
    """The signal comes while a passphrase is stretched; the call then succeeds or fails, and gives something."""
    slow = vaultfile.Passphrase("slow", passes=3, memory_kib=1 << 17)
    wrong = vaultfile.Passphrase("wrong")
    both, headers, body = (tmp_path / name for name in ("both", "headers", "body"))
    both.write_bytes(vaultfile.encrypt(b"x", slow))
    container, header = vaultfile.encrypt_detached(b"x", slow)
    vaultfile.Keyring.create(tmp_path / "ring", slow)
    new = iter(range(100))
    calls = {
        "open": lambda: vaultfile.open(both, keys=slow),
        "open a file object": lambda: vaultfile.open(io.BytesIO(both.read_bytes()), keys=slow),
        "an error": lambda: vaultfile.open(both, keys=wrong),
        "decrypt": lambda: vaultfile.decrypt(both.read_bytes(), slow),
        "encrypt": lambda: vaultfile.encrypt(b"x", slow),
        "encrypt_detached": lambda: vaultfile.encrypt_detached(b"x", slow),
        "verify_header": lambda: vaultfile.verify_header(header, slow),
        "rotate_header": lambda: vaultfile.rotate_header(header, slow, add=KEY),
        "write": lambda: vaultfile.open(body, "wb", keys=slow),
        "write a file object": lambda: vaultfile.open(io.BytesIO(), "wb", keys=slow),
        "write with a header file": lambda: vaultfile.open(body, "wb", keys=slow, header=headers),
        "write a file object with a header file": lambda: vaultfile.open(io.BytesIO(), "wb", keys=slow, header=headers),
        "a keyring": lambda: vaultfile.Keyring(tmp_path / "ring", slow),
        "a new keyring": lambda: vaultfile.Keyring.create(tmp_path / f"ring{next(new)}", slow),
    }
    for name, made in calls.items():
        gc.collect()
        before = lib.vaultfile_handle_count()
        interrupt_after(0.05)
        with pytest.raises(KeyboardInterrupt):
            made()
            linger()
        gc.collect()
        assert lib.vaultfile_handle_count() == before, name
        assert not body.exists() and not headers.exists(), name


def test_the_program_can_be_interrupted_in_a_callback():
    def ask(kind, ids):
        signal.raise_signal(signal.SIGINT)

    container = vaultfile.encrypt(b"x", KEY)
    with pytest.raises(KeyboardInterrupt):
        vaultfile.decrypt(container, vaultfile.AskForKeys(ask))
    assert vaultfile.decrypt(container, KEY) == b"x"


def test_progress(tmp_path):
    plain, container, back = tmp_path / "plain", tmp_path / "container", tmp_path / "back"
    plain.write_bytes(PLAIN)
    for call in (
            lambda told: vaultfile.encrypt_file(plain, container, KEY, replace=True, progress=told),
            lambda told: vaultfile.decrypt_file(container, back, KEY, replace=True, progress=told, jobs=1),
            lambda told: vaultfile.verify(container, KEY, progress=told, jobs=2),
            lambda told: vaultfile.reencrypt(container, KEY, KEY, progress=told)):
        heard = []
        call(heard.append)
        assert heard and heard == sorted(heard) and heard[-1] == len(PLAIN)

        def stop(done):
            raise ZeroDivisionError("no more")

        names, bytes_ = sorted(tmp_path.iterdir()), container.read_bytes()
        with pytest.raises(ZeroDivisionError):
            call(stop)
        with pytest.raises(KeyboardInterrupt):
            call(lambda done: signal.raise_signal(signal.SIGINT))
        assert sorted(tmp_path.iterdir()) == names and container.read_bytes() == bytes_
        with pytest.raises(TypeError, match="progress"):
            call(5)
    assert back.read_bytes() == PLAIN


def test_progress_of_changes(tmp_path):
    """It hears bytes of the container where that is copied, and nothing where two small writes change it."""
    path, header, new, heard = tmp_path / "c", tmp_path / "h", vaultfile.Key.generate(), []
    plain = PLAIN[: 1 << 21]
    path.write_bytes(vaultfile.encrypt(plain, KEY, header_capacity=4096))
    vaultfile.rotate(path, KEY, add=new, progress=heard.append)
    vaultfile.repair(path, KEY, progress=heard.append)
    vaultfile.detach(path, KEY, header, progress=heard.append)
    vaultfile.attach(path, KEY, header, progress=heard.append)
    assert heard == []

    with pytest.raises(TypeError, match="progress"):
        vaultfile.attach(path, KEY, header, progress=5)

    # These need more room than the header has, and so a new file.
    many = [vaultfile.Key.generate() for _ in range(100)]

    def stop(done):
        raise ZeroDivisionError("no more")

    before = path.read_bytes()
    for told, kind in ((stop, ZeroDivisionError), (lambda done: signal.raise_signal(signal.SIGINT), KeyboardInterrupt)):
        with pytest.raises(kind):
            vaultfile.rotate(path, KEY, add=many, progress=told)
        assert path.read_bytes() == before and sorted(tmp_path.iterdir()) == [path]
    vaultfile.rotate(path, KEY, add=many, progress=heard.append)
    assert heard == sorted(heard) and len(plain) < heard[-1] <= path.stat().st_size
    assert vaultfile.open(path, keys=many[7]).read() == plain
