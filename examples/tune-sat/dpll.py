"""A small SAT solver, for machines without one: Davis, Putnam, Logemann and Loveland (1962).

    python dpll.py frequent|random FILE.cnf [SEED]

Exits with 10 if satisfiable and with 20 if unsatisfiable, as solvers do.
"""

import random
import sys
from collections import Counter


def simplify(clauses, literal):
    """Return the clauses given a true literal; None if one of them is then false."""
    found = []
    for clause in clauses:
        if literal not in clause:
            left = [other for other in clause if other != -literal]
            if not left:
                return None
            found.append(left)
    return found


def solve(clauses, choose):
    """Return whether the clauses are satisfiable."""
    todo = [clauses]
    while todo:
        clauses = todo.pop()
        while clauses and (unit := next((c[0] for c in clauses if len(c) == 1), None)):
            clauses = simplify(clauses, unit)
        if clauses is None:
            continue
        if not clauses:
            return True
        literal = choose(clauses)
        todo += [one for one in (simplify(clauses, -literal), simplify(clauses, literal))
                 if one is not None]  # fmt: skip
    return False


def main(heuristic, path, seed="0"):
    """Read a file, and end with the answer."""
    with open(path) as file:
        lines = [line.split() for line in file if line[0] not in "pc"]
    clauses = [[int(word) for word in line[:-1]] for line in lines if line]
    rng = random.Random(seed)

    def frequent(clauses):
        return Counter(x for clause in clauses for x in clause).most_common(1)[0][0]

    def some(clauses):
        return rng.choice(rng.choice(clauses))

    answer = solve(clauses, {"frequent": frequent, "random": some}[heuristic])
    print("s SATISFIABLE" if answer else "s UNSATISFIABLE")
    sys.exit(10 if answer else 20)


if __name__ == "__main__":
    main(*sys.argv[1:])
