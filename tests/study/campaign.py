"""Processes that use a study as users do, for tests that kill them: `campaign.py ADDRESS FOLDER`.

The first process works in two threads. For every line read it forks a worker, and says `born PID`.
A worker opens the study, works in two threads, forks a child that does the same for a moment,
closes the study, and begins again, until it is killed. All that is answered is written to journals
in the folder, once it is; what must not happen is a line `wrong ...`. Whoever gets `SIGUSR1` writes
down where it is, in `tracebacks`, and goes on.
"""

import faulthandler
import os
import random
import signal
import sys
import threading
import traceback
from pathlib import Path

from keyhole.study import DifferentFeedbackError, Study

OPTIONS = {"durability": "process_crash"}  # nothing here outlives the machine


def reward_of(id):
    """Return what everybody tells of a decision."""
    return sum(map(ord, id)) % 2


class Worker:
    """A thread's doings, in a study that it shares."""

    def __init__(self, address, study, folder, seed):
        self.address, self.study, self.folder = address, study, folder
        self.random, self.mine, self.told = random.Random(seed), [], []
        self.name = f"{os.getpid()}-{seed}"
        self.journal = os.open(
            folder / f"journal-{self.name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND
        )

    def say(self, *words):
        """Write down what was answered, in one piece."""
        os.write(self.journal, (" ".join(map(str, words)) + "\n").encode())

    def work(self, times):
        """Do so many things; a fault is written down."""
        operations, weights = zip(*OPERATIONS.items(), strict=True)
        try:
            for _ in range(times):
                self.random.choices(operations, weights)[0](self)
        except BaseException:
            self.say("wrong", repr(traceback.format_exc()))
            raise
        finally:
            os.close(self.journal)

    def ask(self):
        decision = self.study.ask()
        self.say("asked", decision.id, decision.arm)
        self.mine.append(decision.id)

    def ask_twice(self):
        key = f"{self.name}-{self.random.random()}"
        decision = self.study.ask(key=key)
        self.say("asked", decision.id, decision.arm)
        if self.study.ask(key=key) != decision:
            self.say("wrong", "another decision for the key", key)
        self.mine.append(decision.id)

    def tell(self):
        if self.mine:
            id = self.mine.pop(self.random.randrange(len(self.mine)))
            self.study.tell(id, reward_of(id))
            self.say("told", id)
            self.told.append(id)

    def tell_again(self):
        if self.told:
            id = self.random.choice(self.told)
            self.study.tell(id, reward_of(id))
            try:
                self.study.tell(id, 1 - reward_of(id))
                self.say("wrong", "told otherwise", id)
            except DifferentFeedbackError:
                pass

    def expire(self):
        if self.mine:
            id = self.mine.pop()
            self.study.expire(id)
            self.say("expired", id)

    def look(self):
        labels, arms = self.study.recommend(), self.study.arms
        if not set(labels) & set(arms):
            self.say("wrong", "labels of", labels, "for", arms)
        self.study.pending  # noqa: B018

    def export(self):
        self.study.export(self.folder / f"export-{self.name}")

    def open_another(self):
        with Study.open(self.address, "labels", **OPTIONS) as other:
            decision = other.ask()
            self.say("asked", decision.id, decision.arm)
            if decision.id not in [row.decision for row in self.study.log()]:
                self.say("wrong", "not in the log of another:", decision.id)
        self.mine.append(decision.id)

    def add_and_retire(self):
        arm = f"{self.name}-{self.random.random()}"
        self.study.add_arm(arm)
        self.say("added", arm)
        self.study.retire(arm)
        self.say("retired", arm)


OPERATIONS = {
    Worker.ask: 40,
    Worker.ask_twice: 5,
    Worker.tell: 40,
    Worker.tell_again: 5,
    Worker.expire: 3,
    Worker.look: 5,
    Worker.export: 1,
    Worker.open_another: 3,
    Worker.add_and_retire: 1,
}


def live(address, folder, seed, times=None):
    """Open the study, work, fork, close; for ever, or with so many things in each thread once."""
    chance = random.Random(seed)
    for life in range(1 if times else sys.maxsize):
        study = Study.open(address, "labels", **OPTIONS)
        several = [Worker(address, study, folder, f"{seed}-{life}-{n}") for n in range(2)]
        many = times or chance.randrange(5, 40)
        threads = [threading.Thread(target=worker.work, args=(many,)) for worker in several]
        for thread in threads:
            thread.start()
        if not times:
            fork(lambda n=life: live(address, folder, f"{seed}-{n}-child", 3), is_awaited=True)
        for thread in threads:
            thread.join()
        study.close()


def fork(work, *, is_awaited):
    """Do some work in a fork; return its number."""
    pid = os.fork()
    if pid == 0:
        try:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    if is_awaited and os.waitpid(pid, 0)[1]:
        raise RuntimeError("a child has failed")
    return pid


def main(address, folder):
    """Work until the end of the input, and fork a worker for every line."""
    faulthandler.register(signal.SIGUSR1, (folder / "tracebacks").open("a"))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    stop = threading.Event()

    def work(number):
        for life in range(sys.maxsize):
            if stop.is_set():
                return
            Worker(address, study, folder, f"first-{number}-{life}").work(10)

    with Study.open(address, "labels", **OPTIONS) as study:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
        for thread in threads:
            thread.start()
        for line in sys.stdin:
            seed = line.strip()
            pid = fork(lambda s=seed: live(address, folder, s), is_awaited=False)
            os.write(1, f"born {pid}\n".encode())
        stop.set()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    if sys.argv[1].startswith("postgresql"):
        OPTIONS.clear()
    main(sys.argv[1], Path(sys.argv[2]))
