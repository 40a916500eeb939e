"""Make SAT instances, and a spec with the installed solvers.

    python examples/tune-sat/make.py FOLDER [--small]

Instances are mostly at their phase transition: random 3-SAT, planted 3-SAT, parity equations,
quasigroup completion (Latin squares with holes), graph colouring, and pigeonhole formulas. Solvers
are those of Debian (minisat, cadical, picosat, cryptominisat, clasp, z3), those of python-sat, and,
without any, two of our own in Python.
"""

import argparse
import importlib.util
import json
import random
import shlex
import shutil
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

HERE = Path(__file__).resolve().parent
Clauses = tuple[int, list[list[int]]]  # how many variables, and the clauses

COMMANDS = {
    "minisat": "minisat -verb=0 {instance}",
    "minisat random": "minisat -verb=0 -rnd-freq=0.2 -no-luby -rnd-seed={seed}.0 {instance}",
    "picosat": "picosat -n {instance}",
    "cadical": "cadical -q -n {instance}",
    "cadical --sat": "cadical -q -n --sat {instance}",
    "cryptominisat": "cryptominisat5 --verb=0 --printsol=0 {instance}",
    "clasp tweety": "clasp --quiet=2 -V0 --configuration=tweety {instance}",
    "clasp crafty": "clasp --quiet=2 -V0 --configuration=crafty {instance}",
    "z3": "z3 -dimacs {instance}",
}
PYSAT = ("glucose4", "maplesat", "lingeling")
OWN = ("frequent", "random")


def random_3sat(rng: random.Random, n: int, ratio: float, hidden: bool = False) -> Clauses:
    """Return random 3-SAT clauses, optionally with a planted solution."""
    answer = [rng.random() < 0.5 for _ in range(n + 1)]
    found: list[list[int]] = []
    while len(found) < round(n * ratio):
        clause = [v if rng.random() < 0.5 else -v for v in rng.sample(range(1, n + 1), 3)]
        if not hidden or any((x > 0) == answer[abs(x)] for x in clause):
            found.append(clause)
    return n, found


def parity(rng: random.Random, n: int) -> Clauses:
    """Return n parity equations of three variables; half of the instances are unsatisfiable."""
    while True:
        slots = [v for v in range(1, n + 1) for _ in range(3)]
        rng.shuffle(slots)
        rows = [slots[i : i + 3] for i in range(0, 3 * n, 3)]
        if all(len(set(row)) == 3 for row in rows):
            break
    answer = [rng.random() < 0.5 for _ in range(n + 1)]
    wrong = rng.random() < 0.5
    found = []
    for i, row in enumerate(rows):
        right = (sum(answer[v] for v in row) + (wrong and i == 0)) % 2
        for bits in range(8):
            signs = [bits >> k & 1 for k in range(3)]
            if sum(signs) % 2 != right:
                found.append([-v if sign else v for v, sign in zip(row, signs, strict=True)])
    return n, found


def latin(rng: random.Random, n: int, share: float) -> Clauses:
    """Return the completion of a Latin square with a share of empty cells."""
    rows, columns, symbols = (rng.sample(range(n), n) for _ in range(3))
    square = [[symbols[(rows[i] + columns[j]) % n] for j in range(n)] for i in range(n)]
    cells = [(i, j) for i in range(n) for j in range(n)]
    empty = set(rng.sample(cells, round(share * n * n)))
    in_row = [{square[i][j] for j in range(n) if (i, j) not in empty} for i in range(n)]
    in_column = [{square[i][j] for i in range(n) if (i, j) not in empty} for j in range(n)]
    count, groups = 0, dict[tuple[str, int, int], list[int]]()
    for i, j in sorted(empty):
        for k in range(n):
            if k not in in_row[i] and k not in in_column[j]:
                count += 1
                for group in (("cell", i, j), ("row", i, k), ("column", j, k)):
                    groups.setdefault(group, []).append(count)
    found = []
    for group in groups.values():
        found += [group, *([-a, -b] for a, b in combinations(group, 2))]
    return count, found


def colours(rng: random.Random, n: int, degree: float) -> Clauses:
    """Return a random graph to be coloured with three; every other has a hidden colouring."""
    hidden = [rng.randrange(3) for _ in range(n)] if rng.random() < 0.5 else list(range(n))
    edges: set[tuple[int, int]] = set()
    while len(edges) < n * degree / 2:
        a, b = sorted(rng.sample(range(n), 2))
        if hidden[a] != hidden[b]:
            edges.add((a, b))
    found = [[3 * i + c + 1 for c in range(3)] for i in range(n)]
    found += [[-(3 * a + c + 1), -(3 * b + c + 1)] for a, b in sorted(edges) for c in range(3)]
    return 3 * n, found


def pigeons(holes: int) -> Clauses:
    """Return one pigeon more than there are holes, each of which wants one for itself."""
    place = [[i * holes + j + 1 for j in range(holes)] for i in range(holes + 1)]
    found = [list(row) for row in place]
    found += [[-a[j], -b[j]] for j in range(holes) for a, b in combinations(place, 2)]
    return (holes + 1) * holes, found


def instances(rng: random.Random, small: bool) -> dict[str, Clauses]:
    """Return the instances by name; small ones are for solvers in Python."""
    if small:
        kinds: list[tuple[str, int, Callable[[], Clauses]]] = [
            ("uniform", 4, lambda: random_3sat(rng, rng.randint(15, 40), 4.26)),
            ("colours", 2, lambda: colours(rng, rng.randint(10, 20), 4.0)),
        ]
        return {f"{name}{i}": make() for name, count, make in kinds for i in range(count)}
    kinds = [
        ("uniform", 16, lambda: random_3sat(rng, rng.randint(180, 320), 4.26)),
        ("hidden", 12, lambda: random_3sat(rng, rng.randint(350, 520), 4.2, hidden=True)),
        ("parity", 6, lambda: parity(rng, rng.randint(100, 170))),
        ("latin", 6, lambda: latin(rng, rng.randint(31, 38), 0.42)),
        ("colours", 8, lambda: colours(rng, rng.randint(250, 600), 4.65)),
    ]
    found = {f"{name}{i:02}": make() for name, count, make in kinds for i in range(count)}
    return found | {f"pigeons{holes:02}": pigeons(holes) for holes in (8, 9, 10)}


def solvers(small: bool) -> dict[str, str]:
    """Return the commands of the solvers that are here, by name."""
    found = {name: words for name, words in COMMANDS.items() if shutil.which(words.split()[0])}
    if importlib.util.find_spec("pysat"):
        script = shlex.join([sys.executable, str(HERE / "with_pysat.py")])
        found |= {f"{name} of python-sat": f"{script} {name} {{instance}}" for name in PYSAT}
    if not found or small:
        script = shlex.join([sys.executable, "-I", "-S", str(HERE / "dpll.py")])
        found |= {f"our own, {name}": f"{script} {name} {{instance}} {{seed}}" for name in OWN}
    return found


def main() -> None:
    """Write the instances and the spec."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--small", action="store_true", help="for a first try, and for a test")
    asked = parser.parse_args()
    commands = solvers(asked.small)
    # Without a solver of C there is no use in instances that none of ours does.
    small = asked.small or all(name.startswith("our own") for name in commands)
    (asked.folder / "instances").mkdir(parents=True, exist_ok=True)
    for name, (count, clauses) in instances(random.Random(1), small).items():
        lines = [f"p cnf {count} {len(clauses)}"]
        lines += [" ".join(map(str, [*clause, 0])) for clause in clauses]
        (asked.folder / "instances" / f"{name}.cnf").write_text("\n".join(lines) + "\n")
    arms = "".join(
        f"\n[[arm]]\nname = {json.dumps(name)}\ncommand = {json.dumps(words)}\n"
        for name, words in commands.items()
    )
    (asked.folder / "sat.toml").write_text((HERE / "head.toml").read_text() + arms)
    print(f"{asked.folder / 'sat.toml'}: {len(commands)} solvers: {', '.join(commands)}")


if __name__ == "__main__":
    main()
