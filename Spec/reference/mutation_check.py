"""Changes small containers in every way of a few kinds: python3 Spec/reference/mutation_check.py

Every flipped bit and every cut of small containers goes through the three readers. It must give an error, or the right
plaintext with another health than `intact`. Only VaultError may be raised. If the streaming reader accepts a container,
the seeking readers accept it with the same health and the same bytes.
"""

import io
import sys
from typing import Callable, Iterator

from header import checked_again
from seek_reader import Container
from slots import Secrets
from vaultfile_reference import Outcome, Sink, by_ranges, read_by_seeking, read_by_stream, seeded
from writer import SymmetricSlot, container_bytes

KEY = bytes(range(0x20, 0x40))
SECRETS = Secrets(keys=(KEY,))
PLAINTEXT = b"abcabcabcabcabcabcabc, a small plaintext"
READERS: dict[str, Callable[[bytes, Sink], Outcome]] = {
    "stream": lambda data, sink: read_by_stream(io.BytesIO(data), SECRETS, sink.write),
    "seek": lambda data, sink: read_by_seeking(io.BytesIO(data), SECRETS, sink.write, by_ranges),
    "whole": lambda data, sink: read_by_seeking(io.BytesIO(data), SECRETS, sink.write, Container.read_whole),
}


def flips(data: bytes, places: range) -> Iterator[bytes]:
    for place in places:
        for bit in range(8):
            yield data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1:]


def mutations(data: bytes, capacity: int) -> Iterator[tuple[str, bytes]]:
    for changed in flips(data, range(len(data))):
        yield "a bit", changed
    for length in range(len(data)):
        yield "a cut", data[:length]
    for added in (b"\0", data[-1:], data[:capacity], data):
        yield "an addition", data + added
    tail = len(data) - 32 - capacity
    for changed in flips(data[:capacity], range(capacity - 32)):
        copy = checked_again(changed)
        yield "a bit of the front, checksum right", copy + data[capacity:]
        yield "a bit of the tail, checksum right", data[:tail] + copy + data[-32:]
        yield "a bit of both copies, checksum right", copy + data[capacity:tail] + copy + data[-32:]
    for place in range(len(data) - 32, len(data)):
        for value in range(256):
            if value != data[place]:
                yield "a byte of the footer", data[:place] + bytes([value]) + data[place + 1:]


def problems(data: bytes) -> Iterator[str]:
    seen: dict[str, tuple[Outcome, Sink, bytes]] = {}
    for name, run in READERS.items():
        output = io.BytesIO()
        sink = Sink(output)
        try:
            outcome = run(data, sink)
        except Exception as error:  # any other exception is a finding
            yield f"{name}: {type(error).__name__}: {error}"
            continue
        seen[name] = (outcome, sink, output.getvalue())
        if outcome.health is not None and output.getvalue() != PLAINTEXT:
            yield f"{name}: {outcome.health} with another plaintext"
        if outcome.health == "intact":
            yield f"{name}: intact"
        if not PLAINTEXT.startswith(output.getvalue()):
            yield f"{name}: released other bytes"
    if "stream" in seen and seen["stream"][0].health is not None:
        for name in ("seek", "whole"):
            if name in seen and seen[name][0].health != seen["stream"][0].health:
                yield f"{name}: {seen[name][0]}, but stream: {seen['stream'][0]}"


def main() -> int:
    count = failed = 0
    for compression in (0, 1):
        data = container_bytes(PLAINTEXT, [SymmetricSlot(KEY)], capacity=512, log2_chunk=12, digest=True,
                               compression=compression, random=seeded("mutations"))
        for kind, changed in mutations(data, 512):
            count += 1
            found = list(problems(changed))
            failed += bool(found)
            for problem in found:
                print(f"compression {compression}, {kind}: {problem}")
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
