"""One run of one command, measured, and what many runs come to."""

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
    """A command that did not do what it was measured for."""


@dataclass
class Sample:
    seconds: float
    cpu: float
    memory: int  # bytes: the peak of the largest process


class Spawner:
    """The process that starts what is measured: spawn.py."""

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
    """Commands that run at the same time, each one's output the next one's input."""

    stages: list
    source: str = os.devnull
    target: str = os.devnull

    def run(self):
        """Runs it, and gives how long it took and what its processes used."""
        seconds, results = spawner.run(self.stages, self.source, self.target)
        for stage, (status, _, _) in zip(self.stages, results):
            # What writes more than is wanted may be told that nobody listens any more.
            if status != 0 and not (status == -13 and stage is not self.stages[-1]):
                raise Failed(f"{' '.join(stage)[:300]}: status {status}")
        return Sample(seconds, sum(cpu for _, cpu, _ in results), max(peak for _, _, peak in results))


def run_all(steps):
    """Runs pipes one after the other, as one thing: a copy, and then its syncing."""
    samples = [step.run() for step in steps]
    return Sample(
        sum(sample.seconds for sample in samples), sum(sample.cpu for sample in samples),
        max(sample.memory for sample in samples))


@dataclass
class Task:
    """What is measured in one row of a table."""

    name: str
    steps: list
    bytes: int = 0  # of plaintext, for the throughput; 0 if there is none to speak of
    prepare: object = None  # called before each run, outside the time
    check: object = None  # called once, after the first run; raises Failed
    repeats: int = 1  # runs a round, for what takes milliseconds
    scale: float = 1  # for a task of which only a part is done
    note: str = ""


def rounds_of(tasks, rounds, say):
    """Every task once a round, each round beginning with another one, so that no task always follows the same.

    One run of each comes first and is not counted; its output is checked. Gives a list of samples for each task.
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
    """What goes into the results: plain values, so that they can be stored."""
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
    """Puts an input into the page cache, and sees to it that there is memory for an output.

    The host of a virtual machine takes back what is free, and then whoever touches it first waits for the host, several
    times as long as for the copying: the tool that happens to come behind another's large output. Twice the room, for
    it is taken back again while the tool runs.
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
    """Below this a process's peak cannot be seen: what stood in memory when it was started counts as its own."""
    return max(Pipe([["true"]]).run().memory for _ in range(5))
