"""Report of a tune (which command is best, at which time limit): one self-contained HTML file."""

import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar, Final

from keyhole.pages.chart_figure import write_chart
from keyhole.pages.line_chart import LineChart
from keyhole.pages.page import Answer, Page, PageBlock, Section, Text, write_page
from keyhole.pages.table import Table
from keyhole.tune import folder
from keyhole.tune.charts import (
    cactus_chart,
    describe_objective,
    gain_chart,
    gain_unit,
    history_chart,
    survival_chart,
)
from keyhole.tune.comparison import compare_time
from keyhole.tune.key_figures import key_figures_block
from keyhole.tune.recommendation_history import replay_recommendations
from keyhole.tune.runs_table import runs_table
from keyhole.tune.saved_tune import SavedTune
from keyhole.tune.summary import (
    POOLING_NOTE,
    arms_table,
    command_line,
    format_cut_off,
    format_probability,
    format_seconds_roughly,
    format_share,
    format_warnings,
    has_one_pair,
)
from keyhole.validate import escape_controls

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
    history = replay_recommendations(tune)
    page = Page(
        title=make_title(tune),
        answer=_answer_blocks(tune),
        figures=[
            _write_chart(tune, gain_chart(tune), "gains", "Gain by limit"),
            *([history_chart(tune, history)] if len(history) > 1 else []),
        ],
        beside=[key_figures_block(tune)],
        sections=[
            *([Section("notes", "Notes", [Text(tune.spec.notes)])] if tune.spec.notes else []),
            Section("arms", "Time and outcomes by arm", [_arms_block(tune)]),
            Section("gains", "Gain by limit", [_gains_block(tune)]),
            _survival_section(tune),
            _cactus_section(tune),
            Section("runs", "All runs", [runs_table(tune)]),
            _spec_section(tune),
        ],
    )
    return write_page(tune.folder / folder.REPORT, page)


def make_title(tune: SavedTune) -> str:
    """Return the question that a tune answers."""
    name, arms, limits = tune.spec.name, len(tune.spec.arms), len(tune.spec.limits)
    if name.endswith("?"):
        return name
    if arms > 1:
        return f"Which command{' and which time limit' if limits > 1 else ''} for {name}?"
    return f"Which time limit for {name}?" if limits > 1 else f"How often does {name} succeed?"


def _answer_blocks(tune: SavedTune) -> list[PageBlock]:
    best = tune.best()
    command = CommandBlock(command_line(tune, best.arm), _how_to_run(tune))
    sentences = [] if has_one_pair(tune) else [format_probability(best)]
    sentences += [text] if (text := format_cut_off(tune)) else []
    note = " ".join(f"{_capitalize(text)}." for text in sentences)
    # For an arm that was never run, the probability rests on the runs of other arms alone.
    if best.untried:
        note = f"{len(best.untried)} of {len(best.runs_of_arms)} arms not tried yet. {note}"
    doubts = [f"{_capitalize(text)}." for text in format_warnings(tune)]
    if not best.successes:
        return [Answer(doubts[0]), *map(Text, doubts[1:])]
    return [Answer(_answer_text(tune), note=note), *map(Text, doubts), command]


def _how_to_run(tune: SavedTune) -> str:
    """Return what to add to the recommended command line: its open fields, and its limit."""
    best, clock = tune.best(), " of CPU time" if tune.spec.clock == "cpu" else ""
    stop = f"stop it after {best.limit:g}\N{NO-BREAK SPACE}s{clock}."
    fields = tune.spec.arms[tune.spec.names.index(best.arm)].open_fields()
    listed = ", ".join(f"{{{name}}}" for name in fields)
    return f"Fill in {listed}; {stop}" if fields else _capitalize(stop)


def _answer_text(tune: SavedTune) -> str:
    best, limits = tune.best(), tune.spec.limits
    text = f"Run {best.arm} for at most {best.limit:g} s"
    if len(limits) == 1:
        return f"{text}: {format_share(best.success_rate)} succeed."
    if best.limit == limits[-1]:
        return f"{text}, the full cut-off: no earlier limit has a larger mean gain."
    # Without intervals, which are beside the chart.
    saved = compare_time(tune)
    verb = "saves" if saved.seconds.value >= 0.0 else "costs"
    seconds = format_seconds_roughly(abs(saved.seconds.value))
    size = saved.seconds if saved.seconds.value >= 0.0 else -saved.seconds
    if size.low < _LEAST_SHARE * size.value:
        verb = f"perhaps {verb}"
    return (
        f"{text}: it {verb} {seconds} a run ({abs(saved.share.value):.0%}) against the full "
        f"cut-off, {limits[-1]:g}\N{NO-BREAK SPACE}s."
    )


def _capitalize(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _arms_block(tune: SavedTune) -> Table:
    head, rows = arms_table(tune)
    caption = "Runs of each arm by outcome, and their time in seconds."
    if len(tune.spec.arms) > 1:
        caption += f" {POOLING_NOTE}"
    return Table(caption, head, rows)


def _gains_block(tune: SavedTune) -> Table:
    limits = [f"{limit:g} s" for limit in tune.spec.limits]
    run_counts = tune.gains.run_counts
    rows = [
        [arm.name, *(f"{tune.gains.gain(i, k)}\nn = {run_counts[i, k]:,}"
                     if run_counts[i, k] else "" for k in range(len(limits)))]
        for i, arm in enumerate(tune.spec.arms)
    ]  # fmt: skip
    caption = (
        f"Gain of a run ({gain_unit(tune)}) by arm and limit, and the number n of runs that inform "
        f"it. {describe_objective(tune)}"
    )
    return Table(caption, ["arm", *limits], rows)


def _survival_section(tune: SavedTune) -> Section:
    caption = (
        "Share of runs without success by a time (Kaplan and Meier), with pointwise 95 % intervals "
        "(Greenwood). A run that reached its limit is censored there; a failed run never succeeds."
    )
    chart = _write_chart(tune, survival_chart(tune, caption), "survival", "Run times")
    return Section("survival", "Run times", [chart])


def _cactus_section(tune: SavedTune) -> Section:
    caption = (
        "Seconds within which a share of the runs succeeds, by arm: the inverse of the curves "
        "of run times. Further right and further down is better."
    )
    chart = _write_chart(tune, cactus_chart(tune, caption), "cactus", "Cactus plot")
    return Section("cactus", "Cactus plot", [chart])


def _write_chart(tune: SavedTune, chart: LineChart, name: str, title: str) -> LineChart:
    """Write a chart to files of that name; return it with links to them."""
    return write_chart(chart, tune.folder / name, title=f"{tune.spec.name}: {title.lower()}")


def _spec_section(tune: SavedTune) -> Section:
    fields = tune.spec.as_json()
    names = [escape_controls(one.name) for one in tune.spec.instances]
    shown = ", ".join(names[:5]) + (f", ... {len(names):,} in all" if len(names) > 5 else "")
    rows = [["instances", shown]]
    rows += [[key, "not given" if fields[key] is None else str(fields[key])] for key in _SPEC]
    rows.append(["versions", f"keyhole {version('keyhole')}; Python {platform.python_version()}; "
                             f"{platform.system()} {platform.machine()}"])  # fmt: skip
    arms = [[arm.name, command_line(tune, arm.name)] for arm in tune.spec.arms]
    return Section(
        "spec",
        "Spec",
        [
            Table("Commands.", ["arm", "command"], arms),
            Table("Other entries.", ["entry", "value"], rows),
        ],
    )
