"""How all that a run has started is ended: three ways, the best first."""

import os
import signal
from contextlib import suppress
from typing import Final, NoReturn

from . import linux_syscalls, process_tree


class Namespace:
    """A PID namespace for each run, whose first process is the init: nobody leaves it.

    When its init ends, in whatever way, the kernel ends all that is in it.
    """

    def __init__(self) -> None:
        if not linux_syscalls.LINUX:
            raise OSError(0, "namespaces are Linux's")
        if not hasattr(os, "pidfd_open"):
            raise OSError(0, "Linux before 5.3")
        self._flags = linux_syscalls.NEW_PIDS | linux_syscalls.NEW_MOUNTS
        self._user, self._group = os.geteuid(), os.getegid()
        # Root needs no user namespace, unless it is root by name only, as in most containers.
        try:
            self._try()
        except OSError:
            self._flags |= linux_syscalls.NEW_USERS
            self._try()

    def _try(self) -> None:
        """Fork an init that only says whether it can become one."""
        heard, said = os.pipe()
        with os.fdopen(heard, "rb") as words:
            try:
                pid = self.fork()
                if pid == 0:
                    self._say_problem(said)
            finally:
                os.close(said)
            problem = words.read().decode()
        os.waitpid(pid, 0)
        if problem:
            raise OSError(0, problem)

    def _say_problem(self, said: int) -> NoReturn:
        try:
            self.enter()
        except OSError as error:
            os.write(said, (error.strerror or str(error)).encode())
        finally:
            os._exit(0)

    def fork(self) -> int:
        """Fork an init."""
        return linux_syscalls.clone(self._flags)

    def enter(self) -> None:
        """Become the init: the user that one was, with a /proc that shows the run alone."""
        if self._flags & linux_syscalls.NEW_USERS:
            for name, text in (
                ("setgroups", "deny"),
                ("uid_map", f"{self._user} {self._user} 1"),
                ("gid_map", f"{self._group} {self._group} 1"),
            ):
                with open(f"/proc/self/{name}", "w") as file:
                    file.write(text)
        linux_syscalls.set_parent_death_signal()
        number = os.readlink("/proc/self")  # in the namespace around this one
        linux_syscalls.make_mounts_private()
        linux_syscalls.mount_proc()  # where a container refuses that, the old one stays
        # The command's number would be 2 in every run, and names that are made of it the same.
        with suppress(OSError), open("/proc/sys/kernel/ns_last_pid", "w") as file:
            file.write(number)

    def left(self, main: int) -> int:
        """Return how many processes are alive, the main one apart."""
        return _others(main)

    def end(self, main: int) -> bool:
        """End all but the init in one go: who is being signalled cannot fork."""
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        with suppress(ChildProcessError):
            while True:
                os.wait()
        return True

    def clean(self, init: int) -> None:
        """Wait for an init that ends: it leaves nothing."""
        os.waitpid(init, 0)


class Subreaper:
    """Init and helper are given all orphans: what a run has started stays below them (Linux)."""

    def __init__(self) -> None:
        if not linux_syscalls.LINUX:
            raise OSError(0, "orphans are kept together on Linux alone")
        linux_syscalls.set_subreaper()

    def fork(self) -> int:
        """Fork an init."""
        return os.fork()

    def enter(self) -> None:
        """Become the init."""
        linux_syscalls.set_subreaper()

    def left(self, main: int) -> int:
        """Return how many processes are alive, the main one apart."""
        return _others(main)

    def end(self, main: int) -> bool:
        """End all children, and those who become children thereby."""
        return process_tree.end_children()

    def clean(self, init: int) -> None:
        """Wait for an init that ends, and end what it has left if it was ended itself.

        All at once: should one of them trace the init, that has not gone before its tracer.
        """
        process_tree.end_children()


class ProcessGroup:
    """The group of the main process is ended; who has left it goes on."""

    def fork(self) -> int:
        """Fork an init."""
        return os.fork()

    def enter(self) -> None:
        """Become the init."""

    def left(self, main: int) -> int:
        """Return how many are seen; at least 1 if the main one has left somebody in its group."""
        seen = _others(main)
        return seen if seen or _is_there(main) else int(_is_there(-main))

    def end(self, main: int) -> bool:
        """End the group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(main, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(main, 0)
        return True

    def clean(self, init: int) -> None:
        """Wait for an init that ends: what it has left is not known any more."""
        os.waitpid(init, 0)


def _is_there(pid: int) -> bool:
    """Return whether there is a process, or, below 0, anybody in a group."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _others(main: int) -> int:
    return sum(process.alive and process.pid != main for process in process_tree.descendants())


Mechanism = Namespace | Subreaper | ProcessGroup
MECHANISMS: Final[dict[str, type[Mechanism]]] = {
    "namespace": Namespace,
    "subreaper": Subreaper,
    "group": ProcessGroup,
}
