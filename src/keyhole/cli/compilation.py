"""Commands `compile` and `cache`: compile kernels ahead; show, explain or empty the cache."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from keyhole.cli.output import print_result
from keyhole.experiment import compile_jobs, setting_registry
from keyhole.experiment.objects_from_spec import import_user_policy, is_policy_file
from keyhole.experiment.spec import Spec
from keyhole.former_names import find_new_policy
from keyhole.kernels.cache_files import cache_folder, cache_limit, cached_files, clear_cache
from keyhole.kernels.compile_cache import find_code_file, read_cache_keys
from keyhole.kernels.interpreted_mode import is_interpreted
from keyhole.validation import check_choice, short_repr, suggestion

_MEGABYTE = 10**6
# Parts of a cache key by which a kernel is recognised after its code has changed.
_KERNEL_PARTS = ("owner", "driver", "the compiler's options")
_MOST_SHOWN_CHARACTERS = 60  # of both values of a change; longer values are left out


def compile_ahead(target: str | None, *, as_json: bool = False) -> None:
    """Compile the kernels of a setting or a spec, by default of all settings; print each."""
    jobs = _find_jobs(target)
    uncached_count = sum(
        file is None or not file.exists() for file in map(compile_jobs.find_cache_file, jobs)
    )
    for number, (name, compile_kernel) in enumerate(jobs, 1):
        compile_kernel()
        if not as_json:
            typer.echo(f"{number} of {len(jobs)}: {name}")
    content = {"kernels": [name for name, _ in jobs], "compiled": uncached_count}
    print_result(content, _describe_cache_size(), as_json=as_json)


def _find_jobs(target: str | None) -> list[compile_jobs.CompileJob]:
    """Return the names of the kernels to compile, with functions that compile them."""
    if target is None:
        settings = list(setting_registry.all_settings())
    elif target in (names := setting_registry.setting_names()):
        settings = [setting_registry.find_setting(target)]
    elif target.endswith(".toml"):
        return compile_jobs.spec_jobs(Spec.from_file(Path(target)))
    else:
        raise ValueError(
            f"compile must be given one of the settings {', '.join(names)}, or a file SPEC.toml; "
            f"got {short_repr(target)}{suggestion(target, names)}"
        )
    return [job for setting in settings for job in compile_jobs.setting_jobs(setting)]


def show_cache(*, as_json: bool = False) -> None:
    """Print the folder and size of the compile cache."""
    files = cached_files()
    sizes = {"bytes": sum(file.st_size for _, file in files), "limit_bytes": cache_limit()}
    content = {"folder": cache_folder(), "pieces": len(files), **sizes}
    print_result(content, f"folder: {cache_folder()}", _describe_cache_size(), as_json=as_json)


def explain_cache(name: str, *, as_json: bool = False) -> None:
    """Print for each kernel of a policy whether its code is cached and, if not, what changed."""
    if is_interpreted():
        raise ValueError("KEYHOLE_INTERPRET is set, so nothing is compiled: unset it")
    keys = read_cache_keys()
    rows = [{"kernel": kernel} | _explain_key(job, keys) for kernel, job in _find_policy_jobs(name)]
    lines = (f"{row['kernel']}: {_describe_state(row)}" for row in rows)
    print_result(rows, *lines, as_json=as_json)


def _find_policy_jobs(name: str) -> list[compile_jobs.CompileJob]:
    """Return the jobs of a policy, in each setting that has it; `name` may be FILE.py:CLASS."""
    if is_policy_file(name):
        policy = import_user_policy(name, Path(), field="POLICY")
        return compile_jobs.policy_jobs(policy, setting_registry.find_setting(policy.setting.name))
    settings = list(setting_registry.all_settings())
    policy_names = sorted({policy for setting in settings for policy in setting.policies})
    name = find_new_policy(name, policy_names)
    check_choice("POLICY", name, policy_names, "keyhole catalog")
    jobs = []
    for setting in settings:
        if name in setting.policies:
            jobs += compile_jobs.policy_jobs(setting.policies[name], setting)
    return jobs


def _explain_key(compile_it: Callable[[], object], keys: list[dict[str, str]]) -> dict[str, Any]:
    """Return whether a kernel's code is cached; if not, what changed since code of it was cached.

    In the result, `changed` lists how the kernel's key differs from the most similar of the cached
    `keys` of this kernel. It is None if there is no such key.
    """
    file = find_code_file(compile_it)
    if file is None:
        raise ValueError("compiled code is not kept in files here; keyhole doctor says why")
    if file.path.exists():
        return {"cached": True, "changed": []}
    key = file.make_key()
    kernel_keys = [old for old in keys if all(old.get(name) == key[name] for name in _KERNEL_PARTS)]
    # Reversed, since of equally similar keys the last used one counts.
    changes = [_compare_keys(old, key) for old in reversed(kernel_keys)]
    return {"cached": False, "changed": min(changes, key=len, default=None)}


def _describe_state(row: dict[str, Any]) -> str:
    if row["cached"]:
        return "cached"
    if row["changed"] is None:
        return "not cached: never compiled here, or removed from the cache"
    if not row["changed"]:
        return "not cached: what changed is not recorded"
    return f"not cached; changed: {'; '.join(map(_describe_change, row['changed']))}"


def _compare_keys(cached: dict[str, str], key: dict[str, str]) -> list[dict[str, str | None]]:
    return [
        {"part": name, "cached": cached.get(name), "now": key.get(name)}
        for name in {**key, **cached}
        if cached.get(name) != key.get(name)
    ]


def _describe_change(change: dict[str, str | None]) -> str:
    """Return the name of a part of a key that changed, with both values if they are short."""
    values = f"{change['cached'] or 'none'} -> {change['now'] or 'none'}"
    name = str(change["part"])
    return name + f" ({values})" * (len(values) <= _MOST_SHOWN_CHARACTERS)


def _describe_cache_size() -> str:
    files = cached_files()
    size = sum(file.st_size for _, file in files) / _MEGABYTE
    limit = cache_limit() / _MEGABYTE
    return f"compiled code: {len(files)} pieces, {size:.1f} MB of at most {limit:.0f} MB"


def empty_cache(*, as_json: bool = False) -> None:
    """Empty the compile cache; print how much was removed."""
    removed_count = clear_cache()
    text = f"removed {removed_count} pieces of compiled code from {cache_folder()}"
    print_result({"folder": cache_folder(), "removed": removed_count}, text, as_json=as_json)
