"""Draw what is decided and what is seen in each setting, as SVG files of the documentation.

`make lists` runs it. Text and lines are dark on a light ground, or the reverse where the reader's
system prefers that, so that a picture can be read on a page of either kind. Lengths are in units of
the picture, which is as wide as a page on a phone.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
WIDTH: Final = 480
LINE: Final = 30  # the height of a row
TOP: Final = 42  # where the first row begins, below the headings
STYLE: Final = """\
svg { font: 16px system-ui, sans-serif; }
.ground { fill: #f6f7f9; stroke: #c9ced6; }
text { fill: #1b1f24; }
.note { fill: #525b67; }
.line { stroke: #525b67; stroke-width: 1.5; fill: none; }
.seen { fill: #1f6fb2; stroke: #1f6fb2; stroke-width: 1.5; }
.lost { fill: #c4482b; stroke: #c4482b; stroke-width: 1.5; }
.hidden { fill: none; stroke: #7b8491; stroke-width: 1.5; stroke-dasharray: 4 3; }
.mark { stroke: #c4482b; stroke-width: 2.5; }
.on { fill: #ffffff; }
@media (prefers-color-scheme: dark) {
.ground { fill: #1d2025; stroke: #434a54; }
text { fill: #e8eaed; }
.note { fill: #b3bac4; }
.line { stroke: #b3bac4; }
.seen { fill: #4a9be0; stroke: #4a9be0; }
.lost { fill: #ef7d5f; stroke: #ef7d5f; }
.hidden { stroke: #99a2ae; }
.mark { stroke: #ef7d5f; }
.on { fill: #101214; }
}"""


def text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    """Return words at a place; `anchor` is "start", "middle" or "end"."""
    chosen = f' class="{kind}"' if kind else ""
    escaped = words.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{chosen}>{escaped}</text>'


def bar(x: float, y: float, width: float, kind: str) -> str:
    """Return a bar as high as words."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="14" class="{kind}"/>'


def dot(x: float, y: float, words: str, kind: str) -> str:
    """Return a circle with a digit."""
    circle = f'<circle cx="{x:g}" cy="{y:g}" r="10" class="{kind}"/>'
    ink = "note" if kind == "hidden" else "on"
    return circle + text(x, y + 5, words, "middle", ink)


def upright(x: float, y: float, height: float, kind: str) -> str:
    """Return a vertical line."""
    return f'<path d="M{x:g} {y:g}v{height:g}" class="{kind}"/>'


def stochastic() -> list[str]:
    """Draw rounds in columns: one reward of one arm is seen in each."""
    rewards = ("1001101", "0110110", "1110111")
    chosen = (0, 1, 2, 1, 2, 2, 2)
    parts = [text(12, 26, "arm"), text(270, 26, "rounds, in each one arm is pulled", "middle")]
    for arm, row in enumerate(rewards):
        y = TOP + 14 + LINE * arm
        parts.append(text(18, y + 5, str(arm)))
        for t, reward in enumerate(row):
            kind = "seen" if chosen[t] == arm else "hidden"
            parts.append(dot(column(t), y, reward if kind == "seen" else "", kind))
    return [*parts, *legend(TOP + LINE * 3 + 24, "reward seen", "not pulled: not seen")]


def thresholding() -> list[str]:
    """Draw means of rewards seen against a threshold, and the labels at the end."""
    rows = ((12, 0.31), (30, 0.56), (34, 0.45), (9, 0.82))
    parts = [text(12, 26, "pulls"), text(230, 26, "mean reward", "middle")]
    parts.append(text(468, 26, "label at the end", "end"))
    for arm, (pulls, mean) in enumerate(rows):
        y = TOP + LINE * arm
        parts += [text(44, y + 12, str(pulls), "end"), bar(70, y, 280 * mean, "seen")]
        parts.append(text(468, y + 12, "above" if mean >= 0.5 else "below", "end"))
    parts.append(upright(70 + 280 * 0.5, TOP - 8, LINE * 4 + 2, "mark"))
    return [*parts, *legend(TOP + LINE * 4 + 14, "mean of what was seen", mark="threshold")]


def threshold() -> list[str]:
    """Draw samples of the arm pulled: whole below the threshold, else only that it was reached."""
    rows = ((0, 0.5, 0.3), (1, 0.35, 0.8), (1, 0.75, 0.6), (0, 0.2, 0.55))
    parts = [text(12, 26, "arm"), text(210, 26, "sample, and threshold of the round", "middle")]
    parts.append(text(468, 26, "seen", "end"))
    for t, (arm, level, sample) in enumerate(rows):
        y, reached = TOP + LINE * t, sample >= level
        parts += [text(18, y + 12, str(arm)), bar(60, y, 260 * min(sample, level), "seen")]
        if reached:
            parts.append(bar(60 + 260 * level, y, 260 * (sample - level), "hidden"))
        parts.append(upright(60 + 260 * level, y - 6, 26, "mark"))
        parts.append(text(468, y + 12, "reached" if reached else "the sample", "end"))
    return [*parts, *legend(TOP + LINE * 4 + 14, "seen", "hidden (censored)", "threshold")]


def delayed() -> list[str]:
    """Draw rewards from pull to arrival, and the sums that arrive."""
    pulls = ((0, 1, 3), (1, 0, 1), (1, 1, 1), (0, 1, 1), (1, 1, 2), (1, 0, 1))
    sums = [0] * 7
    top, bottom = TOP + 14, TOP + 104
    parts = [text(12, 26, "arm"), text(12, top + 5, "earned"), text(12, bottom + 5, "arrives")]
    for t, (arm, reward, delay) in enumerate(pulls):
        begin, end = column(t), column(t + delay)
        sums[t + delay] += reward
        bend = f"{begin:g} {top + 50} {end:g} {top + 40} {end:g} {bottom - 12}"
        parts.append(f'<path d="M{begin:g} {top + 10}C{bend}" class="line"/>')
        parts += [text(begin, 26, str(arm), "middle"), dot(begin, top, str(reward), "hidden")]
    parts += [dot(column(t), bottom, str(total), "seen") for t, total in enumerate(sums)]
    return [*parts, *legend(bottom + 40, "sum of a round, seen", "hidden, if anonymous")]


def column(round_: int) -> float:
    """Return the place of a round."""
    return 90 + 58 * round_


def semibandit() -> list[str]:
    """Draw what each arm is given against what it needs, and the losses seen."""
    rows = ((0.5, 0.4, 0), (0.3, 0.55, 1), (0.2, 0.35, 0), (0.0, 0.6, 1))
    parts = [text(12, 26, "arm"), text(210, 26, "amount given, 1 in all", "middle")]
    parts.append(text(468, 26, "loss seen", "end"))
    for arm, (given, needed, loss) in enumerate(rows):
        y = TOP + LINE * arm
        parts += [text(18, y + 12, str(arm)), bar(60, y, 440 * given, "seen")]
        parts += [dashed(60 + 440 * needed, y - 6, 26), text(468, y + 12, str(loss), "end")]
    return [*parts, *legend(TOP + LINE * 4 + 14, "given", line="threshold, never seen")]


def dashed(x: float, y: float, height: float) -> str:
    """Return a vertical line of dashes."""
    return f'<path d="M{x:g} {y:g}v{height:g}" class="line" stroke-dasharray="4 3"/>'


def resource() -> list[str]:
    """Draw runs of arms under limits: ended, or given up."""
    rows = ((0, 0.6, 0.35), (1, 0.4, 0.75), (1, 0.85, 0.7), (0, 0.3, 0.5))
    parts = [text(12, 26, "arm"), text(190, 26, "time of a run, and its limit", "middle")]
    parts.append(text(468, 26, "seen", "end"))
    for t, (arm, limit, time) in enumerate(rows):
        y, over = TOP + LINE * t, time > limit
        parts += [text(18, y + 12, str(arm)), bar(60, y, 280 * min(time, limit), "seen")]
        if over:
            parts.append(bar(60 + 280 * limit, y, 280 * (time - limit), "hidden"))
        parts.append(upright(60 + 280 * limit, y - 6, 26, "mark"))
        parts.append(text(468, y + 12, "limit exceeded" if over else "reward, time", "end"))
    return [*parts, *legend(TOP + LINE * 4 + 14, "seen", "never run", "limit")]


def legend(y: float, seen: str, hidden: str = "", mark: str = "", line: str = "") -> list[str]:
    """Return what the kinds of marks mean, in one line."""
    parts, x = [], 12.0
    for words, kind in ((seen, "seen"), (hidden, "hidden"), (mark, "mark"), (line, "line")):
        if not words:
            continue
        if kind in ("seen", "hidden"):
            parts.append(bar(x, y - 11, 18, kind))
        elif kind == "line":
            parts.append(dashed(x + 9, y - 14, 20))
        else:
            parts.append(upright(x + 9, y - 14, 20, kind))
        parts.append(text(x + 26, y + 1, words, kind="note"))
        x += 52 + 8.4 * len(words)
    return parts


PICTURES: Final[dict[str, tuple[int, Callable[[], list[str]]]]] = {
    "stochastic": (TOP + LINE * 3 + 40, stochastic),
    "thresholding": (TOP + LINE * 4 + 30, thresholding),
    "threshold": (TOP + LINE * 4 + 30, threshold),
    "delayed": (TOP + 160, delayed),
    "semibandit": (TOP + LINE * 4 + 30, semibandit),
    "resource": (TOP + LINE * 4 + 30, resource),
}
"""The height and the content of the picture of each setting."""


def pictures() -> dict[Path, str]:
    """Return the text of each file."""
    return {
        IMAGES / f"model-{name}.svg": picture(height, draw())
        for name, (height, draw) in PICTURES.items()
    }


def picture(height: int, parts: list[str]) -> str:
    """Return an SVG file with these parts on a ground of its own."""
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    edge = f'x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6"'
    ground = f'<rect {edge} class="ground"/>'
    return "\n".join([head, f"<style>\n{STYLE}\n</style>", ground, *parts, "</svg>", ""])


def main() -> None:
    """Write the files that change, and print their names."""
    for path, content in pictures().items():
        if not path.is_file() or path.read_text() != content:
            path.write_text(content)
            sys.stdout.write(f"{path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
