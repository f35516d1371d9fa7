"""Ctrl-C, and the progress of long calls."""

import io
import os
import signal
import threading

import pytest

import vaultfile
from vaultfile import _signals
from vaultfile._library import ProgressCallback
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
    callback = ProgressCallback(progress._hear)
    with _signals._Held():
        signal.raise_signal(signal.SIGINT)
        status = callback(None, 1)
        assert status != 0 and heard == []
        assert isinstance(progress.raised.take(status), KeyboardInterrupt)
        assert callback(None, 2) == 0 and heard == [2]
    with pytest.raises(KeyboardInterrupt):
        with _signals._Held():
            signal.raise_signal(signal.SIGINT)
            heard.append("no exception during the call")
    assert heard[-1] == "no exception during the call"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_program_stays():
    seen = []
    before = signal.signal(signal.SIGINT, lambda *arguments: seen.append(1))
    try:
        with _signals._Held():
            signal.raise_signal(signal.SIGINT)
        assert seen == [1]
    finally:
        signal.signal(signal.SIGINT, before)


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
