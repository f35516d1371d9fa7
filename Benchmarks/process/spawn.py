"""Starts commands for measure.py, out of a process that is as small as Python can be.

What stands in memory when a process is started counts as that process's own peak: this keeps it to a few MiB. Reads
requests on standard input and writes answers on standard output, as marshal writes them: it is built in.
"""

import marshal
import posix
import sys
import time


def run(stages, source, target, errors):
    """Runs commands, each one's output the next one's input. Gives seconds, and each one's status and usage.

    `errors`: where they say what is wrong; our own standard error where it is None.
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
            # Whoever still held an end of the pipe would keep its other end waiting.
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
