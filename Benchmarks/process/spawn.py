"""Starts commands for measure.py, from a Python process that is as small as possible.

The memory of the process that starts a command counts towards that command's peak; this one has only a few MiB. It
reads requests on standard input and writes answers on standard output, in the format of marshal, which is built in.
"""

import marshal
import posix
import sys
import time


def run(stages, source, target, errors):
    """Runs commands; the output of each is the input of the next. Returns the seconds, and status and usage of each.

    `errors`: the file for their standard error; None for our own.
    """
    flags = posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_CLOEXEC
    given = posix.open(source, posix.O_RDONLY | posix.O_CLOEXEC)
    target = posix.open(target, flags, 0o600)
    said = 2 if errors is None else posix.open(errors, flags, 0o600)
    held, processes = {given, target} | ({said} - {2}), []
    try:
        begun = time.perf_counter()
        for number, stage in enumerate(stages):
            following, taken = None, target
            if number + 1 < len(stages):
                following, taken = posix.pipe()
                held |= {following, taken}
            actions = [(posix.POSIX_SPAWN_DUP2, given, 0), (posix.POSIX_SPAWN_DUP2, taken, 1)]
            if said != 2:
                actions.append((posix.POSIX_SPAWN_DUP2, said, 2))
            processes.append(posix.posix_spawn(stage[0], stage, posix.environ, file_actions=actions))
            # If this process kept an end of the pipe open, the other end would wait for ever.
            for descriptor in (given, taken):
                posix.close(descriptor)
                held.remove(descriptor)
            given = following
        usages = [posix.wait4(process, 0) for process in processes]
        seconds = time.perf_counter() - begun
    finally:
        for descriptor in held:
            posix.close(descriptor)
    return seconds, [
        (posix.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10)
        for _, status, usage in usages]


def main():
    while True:
        try:
            request = marshal.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = run(*request)
        except OSError as error:
            answer = str(error)
        marshal.dump(answer, sys.stdout.buffer)
        sys.stdout.buffer.flush()


main()
