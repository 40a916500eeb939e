"""Run a solver of python-sat on a file: `python with_pysat.py SOLVER FILE.cnf`."""

import sys

from pysat.formula import CNF
from pysat.solvers import Solver

with Solver(name=sys.argv[1], bootstrap_with=CNF(from_file=sys.argv[2])) as solver:
    answer = solver.solve()
print("s SATISFIABLE" if answer else "s UNSATISFIABLE")
sys.exit(10 if answer else 20)
