"""Report of a tune (what to run, and with which time limit): one self-contained HTML file."""

import base64
import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Final

from keyhole.pages.line_chart import LineChart
from keyhole.pages.matplotlib_chart import write_chart
from keyhole.pages.page import Answer, Page, PageBlock, Section, Table, Text, write_page
from keyhole.provenance import describe_software, software_text
from keyhole.text_formatting import capitalize, count_text
from keyhole.tune import charts, summary
from keyhole.tune.arms import Arm
from keyhole.tune.recommendation import REFERENCE
from keyhole.tune.run_time_effects import EFFECTS_CAPTION, effects_table
from keyhole.tune.saved_tune import REPORT_FILE, AnyTune, SavedSpaceTune, SavedTune
from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import RUNS_FILE
from keyhole.validation import escape_controls

_RUNS_HEAD: Final = ("run", "arm", "limit (s)", "instance", "outcome", "time (s)", "reward",
                     "CPU (s)", "memory (MiB)", "why", "began (UTC)")  # fmt: skip
_MIB: Final = 2**20
_MOST_BYTES: Final = 250_000  # of the compressed rows


@dataclass(frozen=True)
class RunsTable:
    """Block with a table of runs, which can be filtered and sorted."""

    caption: str
    rows: str  # JSON, compressed
    file: str  # with all runs
    head: tuple[str, ...] = _RUNS_HEAD
    template: ClassVar[str] = "tune/templates/runs.html.j2"


def runs_table(tune: AnyTune) -> RunsTable:
    """Return the table of all runs, or of the last runs if all would make the page too long."""
    runs = sorted([*tune.runs, *tune.expired], key=lambda run: (run.round, run.at))
    rows = [
        [
            run.round, run.label, run.limit, escape_controls(run.instance), run.outcome,
            round(run.seconds, 4),
            run.reward, round(run.cpu, 3), round(run.memory / _MIB, 1),
            " ".join(f"{run.reason} {run.output}".split()),
            datetime.fromtimestamp(run.at, UTC).strftime("%Y-%m-%d %H:%M:%S"),
        ]
        for run in runs
    ]  # fmt: skip
    caption = "Click on a heading to sort."
    data = _compress_rows(rows)
    # The oldest rows are left out until the others fit, since only trying shows how far they can be
    # compressed.
    while len(data) > _MOST_BYTES:
        rows = rows[len(rows) // 4 + 1 :]
        data = _compress_rows(rows)
    if len(rows) < len(runs):
        caption = f"The last {len(rows):,} of {len(runs):,} runs; {RUNS_FILE} has all. {caption}"
    return RunsTable(caption, data, RUNS_FILE)


def _compress_rows(rows: Sequence[Sequence[object]]) -> str:
    cells = [[escape_controls(v) if isinstance(v, str) else v for v in row] for row in rows]
    text = json.dumps(cells, ensure_ascii=False, separators=(",", ":"))
    # Without the time in the header of gzip, equal results make equal pages.
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), mtime=0)).decode()


_SHOWN_SPEC_ENTRIES: Final = ("limits", "success", "objective", "seed", "memory", "cores", "clock",
                              "policy", "grace", "folder")  # fmt: skip


@dataclass(frozen=True)
class CommandBlock:
    """Block with a command, which a button copies, and a note on how to run it."""

    command: str
    note: str
    template: ClassVar[str] = "tune/templates/command.html.j2"


def write_report(tune: AnyTune) -> Path:
    """Write figures and ``report.html`` into the folder of a tune; return the page.

    Raises
    ------
    ValueError
        If nothing has been run yet.
    """
    gain_chart = _write_chart(tune, charts.gain_chart(tune), "gains", "Gain by limit")
    history = charts.replay_recommendations(tune)
    history_charts = [charts.history_chart(tune, history)] if len(history) > 1 else []
    notes = [Section("notes", "Notes", [Text(tune.spec.notes)])] if tune.spec.notes else []
    answer, block_beside = _answer_blocks(tune)
    page = Page(
        title=make_title(tune),
        answer=answer,
        figures=[gain_chart, *history_charts],
        beside=[block_beside],
        sections=[
            *notes,
            *_results_sections(tune),
            Section("runs", "All runs", [runs_table(tune)]),
            _spec_section(tune),
        ],
    )
    return write_page(tune.folder / REPORT_FILE, page)


def _results_sections(tune: AnyTune) -> list[Section]:
    """Return the sections on instances kept aside, what was tried, parameters, and run times."""
    sections = []
    if isinstance(tune, SavedSpaceTune) and (estimates := tune.validation()):
        head, cells = summary.configurations_table(tune, estimates)
        # A validation runs each configuration once on each instance.
        count = count_text(estimates[REFERENCE].runs, "instance")
        title = "Instances kept aside"
        table = Table(f"On {count} that no run of the tune has used.", head, _break_cells(cells))
        chart = _write_chart(tune, charts.validation_chart(tune), "validation", title)
        sections.append(Section("validation", title, [table, chart], is_open=True))
    head, cells = summary.tried_table(tune)
    caption = f"Runs of each {head[0]} by outcome, and their time in seconds."
    table = Table(f"{caption} {summary.tried_table_note(tune)}".strip(), head, cells)
    sections.append(Section("tried", "What was tried", [table]))
    if effects := tune.effects():
        table = Table(EFFECTS_CAPTION, *effects_table(effects, f"{tune.noun}s"))
        title = "What each parameter did"
        sections.append(Section("effects", title, [table], is_open=tune.spec.search is not None))
    if isinstance(tune, SavedTune):
        chart = _write_chart(tune, charts.arm_survival_chart(tune), "survival", "Run times")
        sections.append(Section("survival", "Run times", [chart]))
    return sections


def make_title(tune: AnyTune) -> str:
    """Return the question that a tune answers."""
    spec = tune.spec
    if spec.name.endswith("?"):
        return spec.name
    choices = ["parameters"] if spec.search else ["command"] * (len(spec.arms) > 1)
    choices += ["time limit"] * (len(spec.limits) > 1)
    if not choices:
        return f"How often does {spec.name} succeed?"
    return f"Which {' and which '.join(choices)} for {spec.name}?"


def _answer_blocks(tune: AnyTune) -> tuple[list[PageBlock], PageBlock]:
    """Return the blocks of the answer, and the block beside the figures."""
    warnings = [f"{capitalize(text)}." for text in summary.format_warnings(tune)]
    progress = f"{summary.format_progress(tune)}."
    # If no run has succeeded, estimates say nothing, and the first warning says so.
    if not any(run.outcome == "ok" for run in tune.runs):
        return [Answer(warnings[0]), *map(Text, warnings[1:])], Text(progress)
    result = summary.summarize(tune)
    note = " ".join(f"{capitalize(text)}." for text in result.sentences)
    command = CommandBlock(
        summary.shell_command(result.arm),
        _describe_fields_and_limit(tune.spec, result.arm, result.estimate.limit),
    )
    answer = Answer(f"{capitalize(result.advice)}.", note=note)
    return [answer, *map(Text, warnings), command], _estimates_table(result, progress)


def _describe_fields_and_limit(spec: Spec, arm: Arm, limit: float) -> str:
    """Return what to add to a recommended command line: its open fields, and its limit."""
    clock = " of CPU time" * (spec.clock == "cpu")
    fields = ", ".join(f"{{{name}}}" for name in arm.open_fields())
    fill_text = f"; fill in {fields}" if fields else ""
    return f"Stop it after {limit:g}\N{NO-BREAK SPACE}s{clock}{fill_text}."


def _estimates_table(result: summary.Summary, caption: str) -> Table:
    """Return the table of the recommendation and its reference, transposed to fit by a chart."""
    head, rows = result.table
    names = (summary.RECOMMENDED, result.reference)
    columns = [row for row in (head, *rows) if row is head or row[0] in names]
    names_row, *cells = (list(row) for row in zip(*columns, strict=True))
    # The parameters are in the answer.
    cells = [row for row in cells if row[0] != "parameters"]
    return Table(caption, names_row, _break_cells(cells))


def _break_cells(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return rows with each interval on a line of its own, so that they fit beside a chart."""
    return [
        [cell.replace(" [", "\n[").replace(" ", "\N{NO-BREAK SPACE}") for cell in row]
        for row in rows
    ]


def _write_chart(tune: AnyTune, chart: LineChart, name: str, title: str) -> LineChart:
    """Write a chart to files called `name`; return it with links to them."""
    return write_chart(chart, tune.folder / name, title=f"{tune.spec.name}: {title.lower()}")


def _spec_section(tune: AnyTune) -> Section:
    fields = tune.spec.as_json()
    names = [escape_controls(instance.name) for instance in tune.spec.instances]
    if len(names) > 5:
        names[5:] = [f"... {len(names):,} in all"]
    rows = [["instances", ", ".join(names)]]
    entries = {key: fields[key] for key in _SHOWN_SPEC_ENTRIES}
    if tune.spec.search is not None:
        entries |= {"policy": tune.spec.search.rule} | tune.spec.search.space.as_json()
    rows += [[key, "not given" if entry is None else str(entry)] for key, entry in entries.items()]
    rows.append(["versions", software_text(describe_software(["keyhole"]))])
    arms = [[arm.name, summary.shell_command(arm)] for arm in tune.spec.arms]
    commands = Table("Commands.", ["arm", "command"], arms)
    return Section("spec", "Spec", [commands, Table("Other entries.", ["entry", "value"], rows)])
