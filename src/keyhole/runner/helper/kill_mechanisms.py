"""Ways to kill all processes of a run: PID namespace, subreaper, or process group."""

import os
import signal
from contextlib import suppress
from typing import Final, NoReturn

from . import linux_syscalls, process_tree


class Mechanism:
    """A way to kill all processes of a run, which are below the run's init.

    `fork` and `reap` are called in the helper, the other methods in the init.
    """

    def fork(self) -> int:
        """Fork an init."""
        return os.fork()

    def become_init(self) -> None:
        """Prepare this process, which was just forked, to be the init."""

    def count_left(self, main_pid: int) -> int:
        """Return how many processes of the run, other than the main one, are alive."""
        return sum(p.alive and p.pid != main_pid for p in process_tree.list_descendants())

    def kill(self, main_pid: int) -> bool:
        """Kill all processes of the run; return False if some cannot be signalled and are left."""
        raise NotImplementedError

    def reap(self, init_pid: int) -> None:
        """Wait for the end of an init, and kill what it has left if the mechanism can."""
        os.waitpid(init_pid, 0)


class Namespace(Mechanism):
    """A PID namespace for each run; process 1 of the namespace is the init (Linux 5.3).

    No process leaves the namespace, and the kernel kills all of them when process 1 ends.
    """

    def __init__(self) -> None:
        if not linux_syscalls.LINUX:
            raise OSError(0, "namespaces exist on Linux only")
        if not hasattr(os, "pidfd_open"):
            raise OSError(0, "Linux before 5.3")
        self._flags = linux_syscalls.NEW_PIDS | linux_syscalls.NEW_MOUNTS
        self._user, self._group = os.geteuid(), os.getegid()
        # Root needs no user namespace, in which `sudo` and other users would not work. But in most
        # containers root lacks CAP_SYS_ADMIN, and needs a user namespace, as other users do.
        try:
            self._try_init()
        except OSError:
            self._flags |= linux_syscalls.NEW_USERS
            self._try_init()

    def _try_init(self) -> None:
        """Fork a trial init, which only tries `become_init`; raise an OSError if that fails."""
        read_end, write_end = os.pipe()
        with os.fdopen(read_end, "rb") as report:
            try:
                pid = self.fork()
                if pid == 0:
                    self._become_init_and_exit(write_end)
            finally:
                os.close(write_end)
            problem = report.read().decode()
        os.waitpid(pid, 0)
        if problem:
            raise OSError(0, problem)

    def _become_init_and_exit(self, write_end: int) -> NoReturn:
        """Try `become_init` in the trial init; write the reason of a failure."""
        try:
            self.become_init()
        except OSError as error:
            os.write(write_end, (error.strerror or str(error)).encode())
        finally:
            os._exit(0)

    def fork(self) -> int:
        """Fork an init."""
        return linux_syscalls.clone(self._flags)

    def become_init(self) -> None:
        """Map the user to itself, and mount a /proc that shows this namespace alone."""
        if self._flags & linux_syscalls.NEW_USERS:
            for name, text in (
                ("setgroups", "deny"),
                ("uid_map", f"{self._user} {self._user} 1"),
                ("gid_map", f"{self._group} {self._group} 1"),
            ):
                with open(f"/proc/self/{name}", "w") as file:
                    file.write(text)
        linux_syscalls.set_parent_death_signal()
        outer_pid = os.readlink("/proc/self")  # the mounted /proc is still the outer one
        # If mounts were shared, the new /proc would replace the whole machine's /proc.
        linux_syscalls.make_mounts_private()
        linux_syscalls.mount_proc()  # some containers refuse that: the outer /proc then stays
        # The command gets the PID after `outer_pid`. Otherwise it would be 2 in all runs, and
        # programs that name temporary files after their PID would collide with those of
        # parallel runs.
        with suppress(OSError), open("/proc/sys/kernel/ns_last_pid", "w") as file:
            file.write(outer_pid)

    def kill(self, main_pid: int) -> bool:
        """Kill all processes but the init; the kernel signals all of them before any can fork."""
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        with suppress(ChildProcessError):
            while True:
                os.wait()
        return True


class Subreaper(Mechanism):
    """Init and helper are subreapers: the orphans of a run become their children (Linux)."""

    def __init__(self) -> None:
        if not linux_syscalls.LINUX:
            raise OSError(0, "subreapers exist on Linux only")
        # This process, the helper, adopts the processes of a run whose init was killed.
        linux_syscalls.set_subreaper()

    def become_init(self) -> None:
        """Make this process a subreaper, too."""
        linux_syscalls.set_subreaper()

    def kill(self, main_pid: int) -> bool:
        """Kill all children, and the orphans that become children when their parents die."""
        return process_tree.kill_descendants()

    def reap(self, init_pid: int) -> None:
        """Wait for the end of an init, and kill the processes that it has left."""
        # All are reaped in one loop: an init cannot be reaped before an orphan that traces it.
        process_tree.kill_descendants()


class ProcessGroup(Mechanism):
    """Kills the process group of the main process; processes that have left the group survive."""

    def count_left(self, main_pid: int) -> int:
        """Return how many processes other than the main one /proc shows.

        If /proc shows none and the main process is gone, return 1 if its group still has processes:
        nothing tells their number.
        """
        count = super().count_left(main_pid)
        if count == 0 and not _process_exists(main_pid):
            return int(_process_exists(-main_pid))
        return count

    def kill(self, main_pid: int) -> bool:
        """Kill the process group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(main_pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(main_pid, 0)
        return True


def _process_exists(pid: int) -> bool:
    """Return whether a process exists; for a negative number, whether the group has any."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


KILL_MECHANISMS: Final[dict[str, type[Mechanism]]] = {
    "namespace": Namespace,
    "subreaper": Subreaper,
    "group": ProcessGroup,
}
