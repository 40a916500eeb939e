"""Start processes that run commands: one for each line of input; each waits to be killed.

`python tuners.py`; a line is JSON: mechanism, command, folder (for the answer), words for `run`,
user, and an interpreter that this user may run.
It answers with the number of the process. All end at the latest two minutes after their start.
"""

import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path

from keyhole.runner import CommandRunner

LIVES = 120


def tune(case):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.alarm(LIVES)
    become(case["user"], case["python"])
    try:
        with CommandRunner(case["mechanism"]) as runner:
            run = runner.run(case["command"], **case["words"])
            answer(case["folder"], asdict(run) | {"output": len(run.output)})
            signal.pause()
    except OSError as error:
        answer(case["folder"], {"refused": str(error)})


def become(user, python):
    if user is not None:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
        sys.executable = python  # which this user may run


def answer(folder, words):
    part = Path(folder, "answer.part")
    part.write_text(json.dumps(words))
    part.rename(part.with_suffix(".json"))


def main():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.alarm(10 * LIVES)
    for line in sys.stdin:
        case = json.loads(line)
        pid = os.fork()
        if pid == 0:
            try:
                tune(case)
            finally:
                os._exit(1)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
