"""Report of a tune over a parameter space: one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from keyhole.pages.page import Answer, Page, PageBlock, Section, Table, Text, write_page
from keyhole.text_formatting import capitalize, count_text
from keyhole.tune import space_charts, space_summary
from keyhole.tune.grids import EFFECTS_CAPTION, effects_table
from keyhole.tune.report import (
    CommandBlock,
    describe_use,
    runs_table,
    spec_section,
    unbroken_rows,
    write_tune_chart,
)
from keyhole.tune.saved_tune import REPORT
from keyhole.tune.summary import format_progress, shell_command
from keyhole.tune.validation import YARDSTICK

if TYPE_CHECKING:
    from keyhole.tune.space_tune import SavedSpaceTune


def write_report(tune: SavedSpaceTune) -> Path:
    """Write figures and ``report.html`` into the folder of a tune; return the page.

    Raises
    ------
    ValueError
        If nothing has been run yet.
    """
    tune.best()
    sections = [
        Section("effects", "What each parameter did", [_effects_block(tune)], is_open=True),
        Section("tried", "What was tried", [_tried_block(tune)]),
        Section("runs", "All runs", [runs_table(tune)]),
        spec_section(tune),
    ]
    if estimates := tune.validation():
        head, cells = space_summary.estimates_table(tune, estimates)
        count = count_text(estimates[YARDSTICK].runs, "instance")
        caption = f"On {count} that no run of the tune has used."
        chart = write_tune_chart(
            tune, space_charts.validation_chart(tune), "validation", "Instances kept aside"
        )
        blocks: list[PageBlock] = [Table(caption, head, unbroken_rows(cells)), chart]
        sections.insert(0, Section("validation", "Instances kept aside", blocks, is_open=True))
    if tune.spec.notes:
        sections.insert(0, Section("notes", "Notes", [Text(tune.spec.notes)]))
    gain_chart = write_tune_chart(tune, space_charts.gain_chart(tune), "gains", "Gain by limit")
    page = Page(
        title=f"Which parameters and which time limit for {tune.spec.name}?",
        answer=_answer_blocks(tune),
        figures=[space_charts.history_chart(tune), gain_chart],
        beside=[_estimates_block(tune)],
        sections=sections,
    )
    return write_page(tune.folder / REPORT, page)


def _answer_blocks(tune: SavedSpaceTune) -> list[PageBlock]:
    best = tune.best().incumbent
    warnings = [f"{capitalize(text)}." for text in space_summary.format_warnings(tune)]
    if not any(run.outcome == "ok" for run in tune.runs):
        return [Answer(warnings[0]), *map(Text, warnings[1:])]
    arm = space_summary.recommended_arm(tune)
    command = CommandBlock(shell_command(arm), describe_use(tune.spec, arm, best.limit))
    return [Answer(f"{capitalize(_answer_text(tune))}."), *map(Text, warnings), command]


def _answer_text(tune: SavedSpaceTune) -> str:
    best = tune.best().incumbent
    text = (
        f"run {space_summary.format_parameters(tune, best.parameters)} for at most {best.limit:g} s"
    )
    # Where there is one, the proof on other instances counts, and not what was seen in choosing.
    validation = tune.validation()
    difference = (validation or tune.estimates())["recommended"].gain_over_default
    source = " on instances kept aside" if validation else ""
    # An interval that begins below 0 leaves open whether anything is gained.
    verb = "it gains" if difference.low > 0.0 else "it may gain"
    return (
        f"{text}: {verb} {difference} of a success a run over the default with the full cut-off"
        f"{source}"
    )


def _estimates_block(tune: SavedSpaceTune) -> Table:
    """Return the estimates of the recommended parameters and of the default, which fit here."""
    estimates = tune.estimates()
    names = ["recommended", YARDSTICK]
    head, rows = space_summary.estimates_table(tune, {name: estimates[name] for name in names})
    # Without the names, which are above, and the parameters, which are in the answer.
    cells = list(zip(head, *rows, strict=True))[1:-1]
    caption = f"{format_progress(tune)}."
    return Table(caption, ["", *names], unbroken_rows(cells))


def _effects_block(tune: SavedSpaceTune) -> Table:
    return Table(EFFECTS_CAPTION, *effects_table(tune.effects(), "configurations"))


def _tried_block(tune: SavedSpaceTune) -> Table:
    head, rows = space_summary.tried_table(tune)
    caption = (
        f"The {len(rows):,} configurations with the most runs; parameters as far as they differ "
        "from the default."
    )
    return Table(caption, head, rows)
