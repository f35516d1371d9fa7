"""Measures single runs of commands, and summarises many runs."""

import marshal
import mmap
import os
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass

MIB = 1 << 20


class Failed(Exception):
    """A measured command did not do its work."""


@dataclass
class Sample:
    seconds: float
    cpu: float
    memory: int  # bytes: the peak of the largest process


class Spawner:
    """The process that starts the measured commands: spawn.py."""

    def __init__(self):
        self.process = None

    def run(self, stages, source, target, errors=None):
        if not self.process:
            path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spawn.py")
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        found = [[shutil.which(stage[0]) or stage[0], *stage[1:]] for stage in stages]
        marshal.dump((found, source, target, errors), self.process.stdin)
        self.process.stdin.flush()
        answer = marshal.load(self.process.stdout)
        if isinstance(answer, str):
            raise Failed(f"{' '.join(stages[0])[:300]}: {answer}")
        return answer


spawner = Spawner()


@dataclass
class Pipe:
    """Commands that run at the same time; the output of each is the input of the next."""

    stages: list
    source: str = os.devnull
    target: str = os.devnull

    def run(self):
        """Runs the commands. Returns the time and what the processes used."""
        seconds, results = spawner.run(self.stages, self.source, self.target)
        for stage, (status, _, _) in zip(self.stages, results):
            # A command ends by SIGPIPE if the next one does not read all of its output.
            if status != 0 and not (status == -13 and stage is not self.stages[-1]):
                raise Failed(f"{' '.join(stage)[:300]}: status {status}")
        return Sample(seconds, sum(cpu for _, cpu, _ in results), max(peak for _, _, peak in results))


def run_all(steps):
    """Runs several pipes in sequence as one task: for example a copy, and then its sync."""
    samples = [step.run() for step in steps]
    return Sample(
        sum(sample.seconds for sample in samples), sum(sample.cpu for sample in samples),
        max(sample.memory for sample in samples))


@dataclass
class Task:
    """The task behind one row of a table."""

    name: str
    steps: list
    bytes: int = 0  # of plaintext, for the throughput; 0 for no throughput
    prepare: object = None  # called before each run, outside the time
    check: object = None  # called once, after the first run; raises Failed
    repeats: int = 1  # runs in each round, for tasks of milliseconds
    scale: float = 1  # for a task that runs only in part
    note: str = ""


def rounds_of(tasks, rounds, say):
    """Runs every task once a round. Each round begins with another task, so that none always follows the same one.

    One more run of each comes first; it does not count, and its output is checked. Returns the samples of each task.
    """
    samples = {task.name: [] for task in tasks}
    for task in tasks:
        say(task.name)
        if task.prepare:
            task.prepare()
        run_all(task.steps)
        if task.check:
            task.check()
    for number in range(rounds):
        say(f"round {number + 1} of {rounds}")
        first = number % len(tasks)
        for task in tasks[first:] + tasks[:first]:
            for _ in range(task.repeats):
                if task.prepare:
                    task.prepare()
                samples[task.name].append(run_all(task.steps))
    return samples


def row(task, samples):
    """The result of a task, as plain values that can be stored."""
    seconds = [sample.seconds * task.scale for sample in samples]
    return {
        "name": task.name,
        "bytes": task.bytes,
        "seconds": statistics.median(seconds),
        "least": min(seconds),
        "most": max(seconds),
        "cpu": statistics.median(sample.cpu * task.scale for sample in samples),
        "memory": max(sample.memory for sample in samples),
        "runs": len(seconds),
        "note": task.note,
    }


def warm(source, room=0):
    """Reads an input into the page cache, and makes sure that there is memory for the output.

    The host of a virtual machine reclaims free memory. The next process that touches it waits for the host, several
    times as long as a copy takes: this would punish the tool that runs after another's large output. Twice the size
    is touched, because the host reclaims memory while the tool runs, too.
    """
    part = bytearray(MIB)
    with open(source, "rb", buffering=0) as file:
        while file.readinto(part):
            pass
    if room:
        part = bytes(MIB)
        with mmap.mmap(-1, (2 * room // MIB + 1) * MIB, flags=mmap.MAP_PRIVATE) as memory:
            for start in range(0, len(memory), MIB):
                memory[start:start + MIB] = part


def memory_floor():
    """The lowest peak that can be measured: the memory of the starting process counts as the new one's own."""
    return max(Pipe([["true"]]).run().memory for _ in range(5))
