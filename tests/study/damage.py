"""Damage to the database of a study, and what is read of it afterwards.

As a program, ``python -m tests.study.damage FILE NAME``: prints what is read, as JSON.
"""

import json
import sqlite3
import sys
from contextlib import closing

from keyhole.study import Study, check_database
from keyhole.study.snapshot import make_snapshot
from keyhole.study.storage import open_store
from tests.study.studies import state_of

REFUSED = (ValueError, TypeError, RuntimeError, OSError)
"""What the command line shows in one line."""


def flip(path, bit):
    """Flip a bit of a file."""
    with path.open("r+b") as file:
        file.seek(bit // 8)
        (byte,) = file.read(1)
        file.seek(bit // 8)
        file.write(bytes([byte ^ 1 << bit % 8]))


def read_everything(path, name):
    """Return the log of a study, its state, and each event looked up on its own."""
    with closing(Study.open(path, name)) as study:
        log, state = study.log(), state_of(study)
        of = study._writer.store.events_of_decision
        return log, make_snapshot(state), {row.decision: of(1, str(row.decision)) for row in log}


def outcome(path, name, expected):
    """Return "refused", "refused in several lines", "the same" or "another"."""
    try:
        found = read_everything(path, name)
    except REFUSED as error:
        return "refused in several lines" if "\n" in str(error) else "refused"
    return "the same" if found == expected else "another"


def append(path, rows, name="labels"):
    """Add events with right checksums, as whoever can write to the file may."""
    with closing(open_store(path)) as store:
        study = store.find(name)[0]
        first = len(store.begin(study, 0)) + 1
        store.commit(study, [row._replace(seq=seq) for seq, row in enumerate(rows, first)])


def forget_snapshots(path):
    """Let what is read be read from the log."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM snapshot")


def use(path, name):
    """Do with a study all that one can; return what came of it, a line each."""
    said = []

    def attempt(what, work):
        try:
            work()
            said.append(f"{what}: done")
        except REFUSED as error:
            said.append(f"{what}: {type(error).__name__}: {error}")

    def opened(work):
        with closing(Study.open(path, name)) as study:
            work(study)

    attempt("check", lambda: said.append(str(check_database(path))))
    attempt("recommend", lambda: opened(lambda study: study.recommend()))
    attempt("look", lambda: opened(lambda study: (study.arms, study.pending)))
    attempt("history", lambda: opened(lambda study: study.history()))
    attempt("export", lambda: opened(lambda study: study.export(f"{path}.jsonl")))
    attempt("replay", lambda: opened(lambda study: study.replay(study.definition.policy)))
    attempt("ask", lambda: opened(lambda study: study.tell(study.ask().id, 1)))
    attempt("ask again", lambda: opened(lambda study: [study.ask() for _ in range(3)]))
    return said


if __name__ == "__main__":
    sys.stdout.write(json.dumps(use(*sys.argv[1:])))
