"""The programs of the how-to on HTTP do what it says, against a service in a process."""

import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/howto/http.md"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("shop")


@pytest.fixture(scope="module")
def port(folder, free_port):
    """Run the first program of the page, at a port that is free; return the port."""
    words = blocks("sh")[0].split()[1:]
    command = [sys.executable, "-m", "keyhole", *words, "--port", str(free_port)]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)
    for _ in range(600):
        assert process.poll() is None
        try:
            with urllib.request.urlopen(f"http://localhost:{free_port}/healthz"):
                break
        except OSError:
            time.sleep(0.1)
    yield free_port
    process.terminate()
    process.wait(60)


@pytest.fixture(scope="module")
def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run(program, text, folder, port):
    """Return what a program prints, given its text, with the port of the service."""
    path = folder / "program.mjs"
    path.write_text(text.replace("localhost:8000", f"localhost:{port}"))
    done = subprocess.run(
        [*program, str(path)], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_programs_print_what_the_page_says(folder, port):
    assert run(["bash", "-e"], blocks("sh")[1], folder, port).endswith('{"recommendation":"red"}')
    for name, language in (("php", "php"), ("node", "javascript")):
        if shutil.which(name) is not None:
            (text,) = blocks(language)
            assert run([name], text, folder, port).strip() in ("red", "blue")
            with pytest.raises(AssertionError, match=r"404: .*unknown-study"):
                run([name], text.replace("buttons", "bottons"), folder, port)
    (text,) = blocks("python")
    (printed,) = blocks("text")
    assert run([sys.executable], text, folder, port) == printed
    again = re.sub(r"client\.create\(.*\)", 'client.study("labels")', text)
    again = again.replace("    while True", "    print(len(seen))\n    while True")
    assert run([sys.executable], again, folder, port).startswith("3\nann")
