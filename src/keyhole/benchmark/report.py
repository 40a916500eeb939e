"""The page of the benchmark: the best policy of each situation, charts, and all tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from keyhole.benchmark.problem import PARTS
from keyhole.benchmark.results_file import BenchmarkResults
from keyhole.benchmark.rules import FLOOR_SHARE, LINEAR_REGRET_SHARE
from keyhole.benchmark.summary import (
    SituationSummary,
    policies_on_problem_table,
    situation_table,
    summarize,
)
from keyhole.pages.best_policy_tiles import Tile, TileTable
from keyhole.pages.line_chart import Axis, ChartGrid, Curve, LineChart
from keyhole.pages.page import (
    Answer,
    Page,
    PageBlock,
    Section,
    Table,
    Text,
    render_template,
    write_page,
)
from keyhole.provenance import software_text
from keyhole.text_formatting import count_text

REPORT_FILE: Final = "report.html"
_MOST_NAMED: Final = 4
_LARGEST_DRAWN: Final = 100.0  # larger ratios are drawn at the border

_PROFILE_CAPTION: Final = (
    "Share of the problems on which the mean regret of a policy is at most x times the mean "
    "regret of the best policy: higher and further left is better."
)


def write_benchmark_page(folder: str | Path, content: BenchmarkResults) -> Path:
    """Write ``report.html`` with the results of the benchmark; return the file."""
    return write_page(Path(folder) / REPORT_FILE, _make_page(content))


def _make_page(content: BenchmarkResults) -> Page:
    summaries = summarize(content)
    ranked_summaries = [summary for summary in summaries if summary.ranked]
    situations = {(summary.setting, summary.situation) for summary in summaries}
    how_to_read = render_template(
        "benchmark/templates/how_to_read.txt.j2", linear=LINEAR_REGRET_SHARE, floor=FLOOR_SHARE
    )
    return Page(
        title="Which policy, in which situation?",
        answer=[
            Answer(
                f"{count_text(len(content.problems), 'problem')}, "
                f"{count_text(len(situations), 'situation')}: the best policy of each.",
                f"{content.scale.capitalize()} scale; Keyhole {content.keyhole}"
                f"{f', {content.date}' if content.date else ''}.",
            )
        ],
        figures=[_best_policy_tiles(ranked_summaries)],
        sections=[
            Section("reading", "How to read the tables", [Text(how_to_read)]),
            *(_setting_section(content, name, summaries) for name in content.settings),
            *_provenance_sections(content),
        ],
    )


def _provenance_sections(content: BenchmarkResults) -> list[Section]:
    """Return the section of versions and command; none for a file of 0.2.0, which lacks them."""
    if content.software is None:
        return []
    row = [software_text(content.software.model_dump()), str(content.date), str(content.command)]
    table = Table("Versions, date and command.", ["versions", "date", "command"], [row])
    return [Section("provenance", "Provenance", [table])]


def _best_policy_tiles(summaries: Sequence[SituationSummary]) -> TileTable:
    """Return tiles with the best policy of each situation (row) and each of `PARTS` (column)."""
    cells = {
        (f"{summary.setting}: {summary.situation}", str(summary.part)): Tile(
            text=summary.best.policy,
            label=summary.best.policy,
            note=f"next {summary.runner_up}" if summary.runner_up else "",
        )
        for summary in summaries
    }
    rows = list(dict.fromkeys(row for row, _ in cells))
    columns = [column for column in PARTS if any(summary.part == column for summary in summaries)]
    caption = (
        "The policy with the smallest ratio among those with few linear runs, and the next one; if "
        "the two differ, with the regret of the next over that of the first, and its 95 % interval."
    )
    return TileTable(rows=rows, columns=columns, cells=cells, caption=caption)


def _setting_section(
    content: BenchmarkResults, setting: str, summaries: Sequence[SituationSummary]
) -> Section:
    setting_summaries = [summary for summary in summaries if summary.setting == setting]
    blocks: list[PageBlock] = []
    charts = [_profile_chart(summary) for summary in setting_summaries if len(summary.problems) > 1]
    if charts:
        blocks.append(ChartGrid(charts, _PROFILE_CAPTION))
    blocks += [situation_table(summary) for summary in setting_summaries]
    details = Section(
        f"problems-{setting}",
        "All problems",
        [policies_on_problem_table(problem) for problem in content.of_setting(setting)],
    )
    return Section(f"setting-{setting}", setting, blocks, [details])


def _profile_chart(summary: SituationSummary) -> LineChart:
    """Return the chart of a situation's performance profile (Dolan and More, 2002).

    A curve gives the share of problems on which the ratio of a policy is at most `x`.
    """
    count = len(summary.problems)
    curves = []
    for standing in summary.ranked:
        ratios = sorted(min(ratio, _LARGEST_DRAWN) for ratio in standing.ratios)
        # Every curve spans the whole axis, even if the policy's ratio is never 1.
        x = [1.0, *ratios, _LARGEST_DRAWN]
        y = [sum(r <= ratio_limit for r in ratios) / count for ratio_limit in x]
        curves.append(Curve(label=standing.policy, x=x, y=y, steps=True))
    return LineChart(
        id=f"profile-{summary.setting}-{summary.situation}-{summary.part}".replace(" ", "-"),
        x=Axis(title="times the best mean", scale="log", low=1.0, high=_LARGEST_DRAWN),
        y=Axis(title="share of problems", low=0.0, high=1.02),
        curves=curves,
        named=[standing.policy for standing in summary.ranked[:_MOST_NAMED]],
        title=f"{summary.title} ({summary.part})",
        alt=f"Shares of the {count} problems by ratio; the table has the ratios.",
    )
