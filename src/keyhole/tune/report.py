"""Report of a tune (which command is best, at which time limit): one self-contained HTML file."""

import base64
import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Final

import numpy as np

from keyhole.durations import format_duration
from keyhole.pages.line_chart import LineChart
from keyhole.pages.matplotlib_chart import write_chart
from keyhole.pages.page import Answer, Page, PageBlock, Section, Table, Text, write_page
from keyhole.provenance import describe_software, software_text
from keyhole.text_formatting import capitalize
from keyhole.tune import charts, summary
from keyhole.tune.arms import Arm
from keyhole.tune.grids import EFFECTS_CAPTION, effects_table, estimate_effects, label_arms
from keyhole.tune.saved_tune import REPORT, RUNS, SavedRuns, SavedTune
from keyhole.tune.spec import Spec
from keyhole.tune.summary import format_probability, format_share, format_untried
from keyhole.validate import escape_controls

_HEAD: Final = ("run", "arm", "limit (s)", "instance", "outcome", "time (s)", "reward", "CPU (s)",
                "memory (MiB)", "why", "began (UTC)")  # fmt: skip
_MIB: Final = 2**20
_MOST_BYTES: Final = 250_000


@dataclass(frozen=True)
class RunsTable:
    """Block with a table of runs, which can be filtered and sorted."""

    caption: str
    rows: str  # JSON, compressed
    file: str
    head: tuple[str, ...] = _HEAD
    template: ClassVar[str] = "tune/templates/runs.html.j2"


def runs_table(tune: SavedRuns) -> RunsTable:
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
    data = _compress(rows)
    # Fewer rows until it fits: how far they can be compressed is known only afterwards.
    while len(data) > _MOST_BYTES:
        rows = rows[len(rows) // 4 + 1 :]
        data = _compress(rows)
    if len(rows) < len(runs):
        caption = f"The last {len(rows):,} of {len(runs):,} runs; {RUNS} has all. {caption}"
    return RunsTable(caption, data, RUNS)


def _compress(rows: Sequence[Sequence[object]]) -> str:
    # Without the time in the header: equal results make equal pages.
    cells = [[escape_controls(v) if isinstance(v, str) else v for v in row] for row in rows]
    text = json.dumps(cells, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), mtime=0)).decode()


_SPEC: Final = ("limits", "success", "objective", "seed", "memory", "cores", "clock", "policy",
                "grace", "folder")  # fmt: skip


_LEAST_SHARE: Final = 0.05  # of the time saved: where its interval begins below, it may be nothing


@dataclass(frozen=True)
class CommandBlock:
    """Block with a command, which a button copies, and a note on how to run it."""

    command: str
    note: str
    template: ClassVar[str] = "tune/templates/command.html.j2"


def write_report(tune: SavedTune) -> Path:
    """Write figures and ``report.html`` into the folder of a tune; return the page.

    Raises
    ------
    ValueError
        If nothing has been run yet.
    """
    history = charts.replay_recommendations(tune)
    figures = [write_tune_chart(tune, charts.gain_chart(tune), "gains", "Gain by limit")]
    if len(history) > 1:
        figures.append(charts.history_chart(tune, history))
    notes = [Section("notes", "Notes", [Text(tune.spec.notes)])] if tune.spec.notes else []
    page = Page(
        title=make_title(tune),
        answer=_answer_blocks(tune),
        figures=figures,
        beside=_results_blocks(tune),
        sections=[
            *notes,
            Section("arms", "Time and outcomes by arm", [_arms_block(tune)]),
            *_effects_sections(tune),
            Section("gains", "Gain by limit", [_gains_block(tune)]),
            _chart_section(tune, charts.survival_chart(tune), "survival", "Run times"),
            _chart_section(tune, charts.cactus_chart(tune), "cactus", "Cactus plot"),
            Section("runs", "All runs", [runs_table(tune)]),
            spec_section(tune),
        ],
    )
    return write_page(tune.folder / REPORT, page)


def make_title(tune: SavedTune) -> str:
    """Return the question that a tune answers."""
    name = tune.spec.name
    if name.endswith("?"):
        return name
    choices = ["command"] * (len(tune.spec.arms) > 1) + ["time limit"] * (len(tune.spec.limits) > 1)
    if not choices:
        return f"How often does {name} succeed?"
    return f"Which {' and which '.join(choices)} for {name}?"


def _answer_blocks(tune: SavedTune) -> list[PageBlock]:
    best = tune.best()
    warnings = [f"{capitalize(text)}." for text in summary.format_warnings(tune)]
    if not best.successes:
        return [Answer(warnings[0]), *map(Text, warnings[1:])]
    # For an arm that was never run, the probability rests on the runs of other arms alone.
    sentences = [format_untried(best), summary.format_cut_off(tune)]
    if not summary.has_one_pair(tune):
        sentences.insert(1, format_probability(best))
    note = _join_sentences(*sentences)
    arm = tune.spec.arms[tune.spec.names.index(best.arm)]
    note_on_use = describe_use(tune.spec, arm, best.limit)
    command = CommandBlock(summary.command_line(tune, best.arm), note_on_use)
    return [Answer(_answer_text(tune), note=note), *map(Text, warnings), command]


def _join_sentences(*texts: str) -> str:
    return " ".join(f"{capitalize(text)}." for text in texts if text)


def describe_use(spec: Spec, arm: Arm, limit: float) -> str:
    """Return what to add to a recommended command line: its open fields, and its limit."""
    clock = " of CPU time" * (spec.clock == "cpu")
    stop_text = f"stop it after {limit:g}\N{NO-BREAK SPACE}s{clock}."
    fields = arm.open_fields()
    if not fields:
        return capitalize(stop_text)
    return f"Fill in {', '.join(f'{{{name}}}' for name in fields)}; {stop_text}"


def _answer_text(tune: SavedTune) -> str:
    best = tune.best()
    text = f"Run {best.arm} for at most {best.limit:g} s"
    if len(tune.spec.limits) == 1:
        return f"{text}: {format_share(best.success_rate)} succeed."
    if not summary.has_shorter_limit(tune):
        return f"{text}, the full cut-off."
    # Without intervals, which are beside the chart.
    excess = summary.time_over_full(tune)
    full = best.full.seconds.value
    verb = "costs"
    least_seconds = excess.low
    if excess.value <= 0.0:
        verb = "saves"
        least_seconds = -excess.high
    seconds = abs(excess.value)
    share = f" ({seconds / full:.0%})" if full else ""
    amount = f"{format_duration(seconds)} a run{share}"
    if least_seconds < _LEAST_SHARE * seconds:
        verb = f"perhaps {verb}"
        amount = "time"  # its amount would read as a fact
    return (
        f"{text}: it {verb} {amount} against the full cut-off, "
        f"{best.full.limit:g}\N{NO-BREAK SPACE}s."
    )


def _results_blocks(tune: SavedTune) -> list[PageBlock]:
    """Return the estimates of the best pair, and what is not decided yet."""
    progress = summary.format_progress(tune)
    if not tune.best().successes:
        return [Text(f"{progress}.")]
    head, rows = summary.pair_table(tune)
    cells = unbroken_rows(rows)
    sentences = _join_sentences(summary.format_comparison(tune), summary.format_open_question(tune))
    blocks: list[PageBlock] = [Table(f"{progress}.", head, cells)]
    if sentences:
        blocks.append(Text(sentences))
    return blocks


def unbroken_rows(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return rows whose intervals have lines of their own, so that they fit beside a chart."""
    return [
        [cell.replace(" [", "\n[").replace(" ", "\N{NO-BREAK SPACE}") for cell in row]
        for row in rows
    ]


def _arms_block(tune: SavedTune) -> Table:
    head, rows = summary.arms_table(tune)
    caption = "Runs of each arm by outcome, and their time in seconds."
    return Table(" ".join([caption, *summary.table_notes(tune)]), head, rows)


def _effects_sections(tune: SavedTune) -> list[Section]:
    head, rows = effects_table(estimate_effects(tune), "arms")
    table = Table(EFFECTS_CAPTION, head, rows)
    return [Section("effects", "What each parameter did", [table])] if rows else []


def _gains_block(tune: SavedTune) -> Table:
    limits = [f"{limit:g} s" for limit in tune.spec.limits]
    run_counts = tune.gains.run_counts
    labels, explanation = label_arms(tune.spec)
    rows = [
        [labels[i], *(f"{tune.gains.gain(i, k)}\nn = {run_counts[i, k]:,}"
                      if run_counts[i, k] else "" for k in range(len(limits)))]
        for i in np.argsort(-tune.gains.tried_means.max(axis=1), kind="stable")
    ]  # fmt: skip
    caption = (
        f"Gain of a run ({summary.gain_unit(tune)}) by arm and limit, and the number n of runs "
        f"that inform it. {summary.describe_objective(tune)} {explanation}"
    )
    return Table(caption.strip(), ["arm", *limits], rows)


def write_tune_chart(tune: SavedRuns, chart: LineChart, name: str, title: str) -> LineChart:
    """Write a chart to files of that name; return it with links to them."""
    return write_chart(chart, tune.folder / name, title=f"{tune.spec.name}: {title.lower()}")


def _chart_section(tune: SavedTune, chart: LineChart, name: str, title: str) -> Section:
    return Section(name, title, [write_tune_chart(tune, chart, name, title)])


def spec_section(tune: SavedRuns) -> Section:
    """Return the section with the commands and the other entries of the spec."""
    fields = tune.spec.as_json()
    names = [escape_controls(instance.name) for instance in tune.spec.instances]
    if len(names) > 5:
        names[5:] = [f"... {len(names):,} in all"]
    rows = [["instances", ", ".join(names)]]
    rows += [[key, "not given" if fields[key] is None else str(fields[key])] for key in _SPEC]
    if tune.spec.search is not None:
        space = tune.spec.search.space.as_json()
        rows += [["policy", tune.spec.search.rule], *([k, str(v)] for k, v in space.items())]
    rows.append(["versions", software_text(describe_software(["keyhole"]))])
    arms = [[arm.name, summary.shell_command(arm)] for arm in tune.spec.arms]
    commands = Table("Commands.", ["arm", "command"], arms)
    return Section("spec", "Spec", [commands, Table("Other entries.", ["entry", "value"], rows)])
