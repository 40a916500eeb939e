"""Processes that add rows to a study, for tests that kill them: `writer.py ADDRESS`.

For every line read, a process is forked, which opens the store and writes to the study of the
line's name; one that is not there it creates, and no more. All that happens is said in lines: `born
PID`, `PID SEQ COUNT` once a row is acknowledged, `failed PID` when one was not, `dead PID`.
"""

import itertools
import os
import sys
import time
import traceback

from keyhole.study.storage import Row, StoreError, open_store


def write(address, name):
    """Add rows by the book until killed."""
    store = open_store(address)
    if name not in dict(store.studies()):
        store.create(name, b"", 0.0)
        return
    study, _ = store.find(name)
    after = 0
    for count in itertools.count(1):
        try:
            rows = store.begin(study, after)
            seq = (rows[-1].seq if rows else after) + 1
            store.commit(study, [Row(seq, 1, None, None, 0.0, f"{os.getpid()} {count}".encode())])
        except StoreError:
            say(f"failed {os.getpid()}")
            time.sleep(0.05)
            continue
        after = seq
        say(f"{os.getpid()} {seq} {count}")


def say(text):
    """Say something in one piece."""
    os.write(1, f"{text}\n".encode())


def main(address):
    """Fork for every line, and report the dead at the end of the input."""
    for name in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                write(address, name.strip())
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        say(f"born {pid}")
    while True:
        try:
            pid, _ = os.wait()
        except ChildProcessError:
            return
        say(f"dead {pid}")


if __name__ == "__main__":
    main(sys.argv[1])
