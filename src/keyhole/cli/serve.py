"""The commands `keyhole serve`: studies over HTTP, and the API keys of the service."""

import os
from typing import Annotated, Final

import typer

from keyhole.cli.options import AsJson, add_command, examples_epilog
from keyhole.cli.output import print_result
from keyhole.cli.study import UserPolicies
from keyhole.extras import require_extra
from keyhole.validation import Range, check_choice, check_integer

# Each connection takes a file descriptor. Requests on further connections are answered 503.
_MAX_CONNECTIONS: Final = 500
_STOP_SECONDS: Final = 30  # for answers to requests that were accepted before SIGTERM

app = typer.Typer(
    invoke_without_command=True,
    epilog=examples_epilog(
        "keyhole serve --storage items.db",
        "keyhole serve --storage postgresql://me@host/studies --host 0.0.0.0 --workers 2",
    ),
)
key_app = typer.Typer(
    help="Add, list and revoke keys.",
    no_args_is_help=True,
    epilog=examples_epilog("keyhole serve key list --storage items.db"),
)
app.add_typer(key_app, name="key")

_STORAGE: Final = typer.Option("--storage", metavar="FILE|URL", help="A file, or postgresql://...")
Storage = Annotated[str, _STORAGE]


@app.callback()
def serve(
    context: typer.Context,
    storage: Annotated[str | None, _STORAGE] = None,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port.")] = 8000,
    workers: Annotated[int, typer.Option(help="Processes.")] = 1,
    max_open: Annotated[int, typer.Option(help="Studies open at once in each process.")] = 100,
    log_level: Annotated[str, typer.Option(help="info (each request), warning or error.")] = "info",
    user_policies: UserPolicies = None,
) -> None:
    """Serve the studies of a database over HTTP.

    Requests need a key once the database has one (keyhole serve key add). Without any key only
    127.0.0.1 is served.
    SIGTERM ends the service, after it has answered the requests that it has accepted.
    """
    require_extra("serve", "keyhole serve")
    if context.invoked_subcommand is not None:
        return
    if storage is None:
        raise ValueError("--storage must be given: a file, or postgresql://...")
    check_integer("--port", port, Range(ge=1, le=65535))
    check_integer("--workers", workers, Range(ge=1, le=64))
    check_integer("--max-open", max_open, Range(ge=1, le=10_000))
    check_choice("--log-level", log_level, ("info", "warning", "error"))
    import msgspec
    import uvicorn

    from keyhole.experiment.objects_from_spec import import_user_policies
    from keyhole.serve.api_keys import is_loopback, read_keys
    from keyhole.serve.app import SETTINGS_VARIABLE, Settings
    from keyhole.serve.json_log import make_log_config
    from keyhole.study.storage import normalize_address, open_store

    settings = Settings(
        storage=normalize_address(storage),
        # Whether a key is needed while the database has none.
        needs_key=not is_loopback(host),
        policies=user_policies or [],
        max_open=max_open,
    )
    # A policy that cannot be imported is refused here, before processes start.
    import_user_policies(settings.policies)
    open_store(settings.storage).close()  # a new file is created, an old one migrated
    if settings.needs_key and not read_keys(settings.storage):
        raise ValueError(
            f"--host must be 127.0.0.1 without keys, got {host}: keyhole serve key add ann "
            "--storage ... makes one"
        )
    os.environ[SETTINGS_VARIABLE] = msgspec.json.encode(settings).decode()
    uvicorn.run(
        "keyhole.serve.app:make_app",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        http="keyhole.serve.request_deadline:RequestDeadlineProtocol",
        ws="none",
        log_config=make_log_config(log_level),
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )


@add_command(
    key_app,
    "keyhole serve key add ann --storage items.db",
    "keyhole serve key add shop --storage items.db --right admin --studies 'shop-*' --lifetime 90d",
)
def add(
    who: Annotated[str, typer.Argument(metavar="WHO", help="Who gets the key, for the logs.")],
    storage: Storage,
    right: Annotated[
        str, typer.Option(help="read, decide or admin; each includes those before it.")
    ] = "decide",
    studies: Annotated[
        str, typer.Option(help="Studies that it sees: * is any text, ? a letter, [ab] a or b.")
    ] = "*",
    lifetime: Annotated[str, typer.Option(help="How long it is valid.")] = "365d",
    as_json: AsJson = False,
) -> None:
    """Print a new key, which is shown once and kept nowhere; its id goes to standard error."""
    from keyhole.serve.api_keys import add_key

    key, api_key = add_key(storage, who, right, studies, lifetime)
    print_result({"key": key} | api_key.as_json(), key, as_json=as_json)
    typer.echo(f"its id is {api_key.id}", err=True)


@add_command(key_app, "keyhole serve key list --storage items.db", name="list")
def list_(storage: Storage, as_json: AsJson = False) -> None:
    """Print the keys, with the ids by which they are revoked."""
    from keyhole.serve.api_keys import read_keys

    entries = [api_key.as_json() for api_key in read_keys(storage).values()]
    lines = [" ".join(entry.values()) + " revoked" * ("revoked" in entry) for entry in entries]
    print_result(entries, *lines, as_json=as_json)


@add_command(key_app, "keyhole serve key revoke 3f8a0c1d2e4b --storage items.db")
def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="As keyhole serve key list prints it.")],
    storage: Storage,
) -> None:
    """End a key now; running services refuse it within a second."""
    from keyhole.serve.api_keys import revoke_key

    revoke_key(storage, id)
