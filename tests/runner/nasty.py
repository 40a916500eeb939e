"""Programs that try to outlive their runner: `python nasty.py NAME FOLDER`.

None lives longer than a minute and a half, or starts more than some 250 processes. A hopper, which
is hardly ever seen, counts in the file `beat` of the folder, without which
it ends.
"""

import os
import signal
import sys
import time
from pathlib import Path

END = time.monotonic() + 90


def nap():
    while time.monotonic() < END:
        time.sleep(0.2)
    os._exit(0)


def spin():
    while time.monotonic() < END:
        sum(range(10_000))
    os._exit(0)


def child(work):
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    return pid


def deaf():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU):
        signal.signal(number, signal.SIG_IGN)


def sleeper():
    nap()


def busy():
    """Ignore all signals that can be ignored, in four generations of processes."""
    deaf()
    child(lambda: (child(lambda: (child(spin), nap())), nap()))
    spin()


def own_session():
    child(lambda: (os.setsid(), nap()))
    nap()


def start_daemon():
    def leave():
        os.setsid()
        child(lambda: (os.closerange(0, 64), os.chdir("/"), nap()))
        os._exit(0)

    os.waitpid(child(leave), 0)


def daemon():
    start_daemon()
    nap()


def outlive():
    """Exit, and leave a child in its own session, which holds the standard output."""
    child(lambda: (os.setsid(), nap()))


def outlive_as_daemon():
    start_daemon()


def bomb():
    """Start 200 processes, every tenth in its own session."""
    for number in range(200):
        child(lambda number=number: (number % 10 or os.setsid(), nap()))
    nap()


def tree_bomb():
    """Fork in parent and child, seven times, each process in its own session."""
    for _ in range(7):
        if os.fork() == 0:
            os.setsid()
    nap()


def hop():
    child(lambda: hop_on(own=False))
    nap()


def hop_through_sessions():
    child(lambda: hop_on(own=True))
    nap()


def hop_on(own):
    beat = os.open(BEAT, os.O_CREAT | os.O_WRONLY, 0o666)
    hops = 0
    while time.monotonic() < END and os.path.exists(BEAT):
        if os.fork():
            os._exit(0)
        if own:
            os.setsid()
        hops += 1
        os.pwrite(beat, b"%d" % hops, 0)


def fast_hop():
    child(lambda: os.execv(HOP, [HOP, BEAT]))
    nap()


def fast_hop_through_sessions():
    child(lambda: os.execv(HOP, [HOP, BEAT, "own"]))
    nap()


def respawn():
    """Run as two processes, each of which restarts the other."""

    def one():
        while time.monotonic() < END:
            heard, said = os.pipe()
            if os.fork() == 0:
                os.setsid()
                os.close(said)
                os.read(heard, 1)  # ends with the other
                continue
            os.close(heard)
            nap()

    child(lambda: (os.setsid(), one()))
    nap()


def stopped():
    child(lambda: (os.setsid(), os.kill(os.getpid(), signal.SIGSTOP)))
    os.kill(os.getpid(), signal.SIGSTOP)


def read_input():
    """Read the standard input to its end, then wait for more."""
    sys.stdin.read()
    nap()


def print_for_ever():
    while time.monotonic() < END:
        os.write(1, b"x" * (1 << 20))


def kill_parent():
    child(lambda: (os.setsid(), nap()))
    os.kill(os.getppid(), signal.SIGKILL)
    nap()


def stop_parent():
    os.kill(os.getppid(), signal.SIGSTOP)
    nap()


def kill_grandparent():
    """Kill the parent of the parent, if it is visible."""
    child(lambda: (os.setsid(), nap()))
    stat = Path(f"/proc/{os.getppid()}/stat").read_text()
    above = int(stat.rpartition(")")[2].split()[1])
    if above > 1:
        os.kill(above, signal.SIGKILL)
    nap()


if __name__ == "__main__":
    BEAT, HOP = os.path.join(sys.argv[2], "beat"), os.path.join(sys.argv[2], "hop")
    globals()[sys.argv[1]]()
