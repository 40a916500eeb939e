"""Processor time of a service for an ask and its tell: ``python -m benchmarks.serve [PYTHON]``.

16 connections ask and tell by turns, each in a thread of this process; the time is that of the
server's process. A second server runs each call in a thread, in a transaction of its own. PYTHON is
an interpreter with fastapi, mabwiser and uvicorn, to compare with what people write in twenty
lines, which keeps all in memory. Ratios within a round count: the machine may have other work.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import median

from keyhole.serve.api_keys import add_key
from keyhole.stochastic import UCB1
from keyhole.study import Study

ARMS = list("abcdefghij")
CONNECTIONS, PAIRS, MANY, ROUNDS = 16, 6400, 200, 5
ASK = "/v1/studies/s/decisions"
TWENTY_LINES = """
from fastapi import FastAPI
from mabwiser.mab import MAB, LearningPolicy
from pydantic import BaseModel

app = FastAPI()
mab = MAB(list(range(10)), LearningPolicy.UCB1(alpha=1.25))
mab.fit(list(range(10)), [0.5] * 10)
pending = {}

class Feedback(BaseModel):
    reward: float

@app.post("/v1/studies/s/decisions", status_code=201)
async def ask():
    id = str(len(pending))
    pending[id] = mab.predict()
    return {"id": id, "arm": pending[id]}

@app.post("/v1/studies/s/decisions/{id}/feedback")
async def tell(id: str, feedback: Feedback):
    mab.partial_fit([pending[id]], [feedback.reward])
    return {"recorded": True}
"""
A_THREAD_A_CALL = """
import asyncio
import runpy

from keyhole.study import AsyncStudy, Study

def in_thread(method):
    def run(study, *arguments, **options):
        return asyncio.to_thread(method, study.study, *arguments, **options)
    return run

AsyncStudy.ask = in_thread(Study.ask)
AsyncStudy.tell_many = in_thread(Study.tell_many)
runpy.run_module("keyhole", run_name="__main__")
"""


@contextmanager
def running(command, port, cwd):
    """Run a server until the end of the block; yield its process id."""
    with subprocess.Popen(command, cwd=cwd, stderr=subprocess.DEVNULL) as process:
        try:
            while True:
                time.sleep(0.1)
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
            yield process.pid
        finally:
            process.terminate()


def processor_seconds(pid):
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Client:
    """One connection."""

    def __init__(self, port, key):
        self.http = HTTPConnection("127.0.0.1", port)
        self.headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def post(self, path, body=None):
        self.http.request("POST", path, body and json.dumps(body), self.headers)
        answer = self.http.getresponse()
        content = answer.read()
        assert answer.status < 300, content
        return json.loads(content) if content else None

    def pair(self):
        id = self.post(ASK)["id"]
        self.post(f"{ASK}/{id}/feedback", {"reward": 1})

    def tell_one_by_one(self, ids):
        for id in ids:
            self.post(f"{ASK}/{id}/feedback", {"reward": 1})

    def tell_many(self, ids):
        tellings = [{"id": id, "feedback": {"reward": 1}} for id in ids]
        outcomes = self.post("/v1/studies/s/feedback", {"tellings": tellings})["outcomes"]
        assert not any(outcomes)


def time_pairs(pid, port, key=""):
    """Return the processor time of a pair, in microseconds, and the pairs in a second."""

    def work():
        client = Client(port, key)
        for _ in range(PAIRS // CONNECTIONS):
            client.pair()

    Client(port, key).pair()
    used, begun = processor_seconds(pid), time.perf_counter()
    threads = [threading.Thread(target=work) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall = time.perf_counter() - begun
    return 1e6 * (processor_seconds(pid) - used) / PAIRS, PAIRS / wall


def time_telling(pid, port, key, tell):
    """Return the processor time of a telling, in microseconds."""
    client = Client(port, key)
    batches = []
    for _ in range(5):
        decisions = client.post(f"{ASK}/many", {"count": MANY})["decisions"]
        batches.append([decision["id"] for decision in decisions])
    used = processor_seconds(pid)
    for ids in batches:
        tell(client, ids)
    return 1e6 * (processor_seconds(pid) - used) / (MANY * len(batches))


def time_in_process(folder):
    """Return the processor time of a pair in this process, with 16 threads."""
    with Study.create(folder / f"{time.time_ns()}.db", "s", UCB1(), ARMS) as study:

        def work():
            for _ in range(PAIRS // CONNECTIONS):
                study.tell(study.ask(), 1)

        used = time.process_time()
        threads = [threading.Thread(target=work) for _ in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return 1e6 * (time.process_time() - used) / PAIRS


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    """Print the figures of some rounds, and the medians of their ratios."""
    other_python = sys.argv[1] if len(sys.argv) > 1 else None
    ratios = {}
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            storage, port = folder / "s.db", free_port()
            Study.create(storage, "s", UCB1(), ARMS).close()
            key, _ = add_key(str(storage), "benchmark", "decide")
            command = [sys.executable, "-m", "keyhole", "serve", "--storage", storage]
            with running([*map(str, command), "--port", str(port)], port, folder) as pid:
                ours, rate = time_pairs(pid, port, key)
                single = time_telling(pid, port, key, Client.tell_one_by_one)
                many = time_telling(pid, port, key, Client.tell_many)
            (folder / "a_thread_a_call.py").write_text(A_THREAD_A_CALL)
            port = free_port()
            command = [sys.executable, "a_thread_a_call.py", "serve", "--storage", storage]
            with running([*map(str, command), "--port", str(port)], port, folder) as pid:
                threads, _ = time_pairs(pid, port, key)
            in_process = time_in_process(folder)
            line = (
                f"load {os.getloadavg()[0]:.1f}: keyhole serve {ours:.0f} us a pair, {rate:.0f}/s"
            )
            line += f"; a thread a call {threads:.0f}; Study in process {in_process:.0f}"
            line += f"; tell {single:.0f}, of {MANY} {many:.0f}"
            ratios.setdefault("a single telling / one of many", []).append(single / many)
            ratios.setdefault("keyhole serve / a thread a call", []).append(ours / threads)
            ratios.setdefault("keyhole serve / in process", []).append(ours / in_process)
            if other_python:
                (folder / "app.py").write_text(TWENTY_LINES)
                port = free_port()
                command = [other_python, "-m", "uvicorn", "app:app", "--no-access-log"]
                with running([*command, "--port", str(port)], port, folder) as pid:
                    other, rate = time_pairs(pid, port)
                line += f"; MABWiser in FastAPI {other:.0f}, {rate:.0f}/s"
                ratios.setdefault("keyhole serve / MABWiser in FastAPI", []).append(ours / other)
        print(line, flush=True)
    for name, values in ratios.items():
        print(f"{name}: {median(values):.2f} ({min(values):.2f} to {max(values):.2f})")


if __name__ == "__main__":
    main()
