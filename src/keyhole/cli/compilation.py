"""Commands `compile` and `cache`: compile policies ahead of time, show or empty the cache."""

from pathlib import Path
from time import monotonic

import typer

from keyhole.cli.output import print_json
from keyhole.durations import format_duration
from keyhole.experiment import setting_registry
from keyhole.experiment.compile_jobs import CompileJob, find_file, setting_jobs, spec_jobs
from keyhole.experiment.spec import Spec
from keyhole.kernels.cache_files import cache_folder, cache_limit, cached_files, clear_cache
from keyhole.kernels.compiler_fork_locks import import_numba
from keyhole.play.progress import StatusLine
from keyhole.validate import short_repr, suggestion

_MEGABYTE = 10**6
_SECONDS_BETWEEN_LINES = 10.0


def compile_ahead(what: str | None, *, as_json: bool = False, quiet: bool = False) -> None:
    """Compile the kernels of a setting or a spec, by default of all settings; print each.

    Progress tells how long the rest will take, as soon as something was compiled.
    """
    jobs = _jobs(what)
    missing = [file is None or not file.exists() for file in map(find_file, jobs)]
    if any(missing):
        import_numba()  # which takes a second, and is no part of the time of the first kernel
    line, seconds, compiled = StatusLine(_SECONDS_BETWEEN_LINES), 0.0, 0
    for number, (name, compile_it) in enumerate(jobs, 1):
        began = monotonic()
        compile_it()
        if not as_json:
            typer.echo(f"{number} of {len(jobs)}: {name}")
        if not missing[number - 1]:
            continue
        compiled += 1
        seconds += monotonic() - began
        left = sum(missing[number:])
        if left and not quiet and (compiled == 1 or line.is_due):
            time_left = format_duration(left * seconds / compiled)
            line.print(f"{left} left to compile, about {time_left}")
    if as_json:
        print_json({"kernels": [name for name, _ in jobs], "compiled": compiled})
        return
    _print_size()


def _jobs(what: str | None) -> list[CompileJob]:
    if what is None:
        return [job for entry in setting_registry.all_settings() for job in setting_jobs(entry)]
    if what in setting_registry.setting_names():
        return setting_jobs(setting_registry.find_setting(what))
    if not what.endswith(".toml"):
        known = ", ".join(setting_registry.setting_names())
        raise ValueError(
            f"compile must be given one of the settings {known}, or a file SPEC.toml; got "
            f"{short_repr(what)}{suggestion(what, setting_registry.setting_names())}"
        )
    return spec_jobs(Spec.from_file(Path(what)))


def show_cache(*, as_json: bool = False) -> None:
    """Print the folder and size of the compile cache."""
    if as_json:
        files = cached_files()
        size = sum(found.st_size for _, found in files)
        limits = {"bytes": size, "limit_bytes": cache_limit()}
        print_json({"folder": cache_folder(), "pieces": len(files), **limits})
        return
    typer.echo(f"folder: {cache_folder()}")
    _print_size()


def _print_size() -> None:
    files = cached_files()
    size = sum(found.st_size for _, found in files) / _MEGABYTE
    typer.echo(
        f"compiled code: {len(files)} pieces, {size:.1f} MB of at most "
        f"{cache_limit() / _MEGABYTE:.0f} MB"
    )


def empty_cache(*, as_json: bool = False) -> None:
    """Empty the compile cache; print how much was removed."""
    removed = clear_cache()
    if as_json:
        print_json({"folder": cache_folder(), "removed": removed})
    else:
        typer.echo(f"removed {removed} pieces of compiled code from {cache_folder()}")
