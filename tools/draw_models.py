"""Draw what is decided and what is seen in each setting, and the picture of the first page, as SVG.

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
.need { stroke: #1b1f24; stroke-width: 3; stroke-dasharray: 5 3; }
.head { fill: #525b67; }
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
.need { stroke: #e8eaed; }
.head { fill: #b3bac4; }
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
    """Draw samples of the arm pulled: one that reaches the threshold earns 1, and is hidden."""
    rows = ((0, 0.5, 0.3), (1, 0.35, 0.8), (1, 0.75, 0.6), (0, 0.2, 0.55))
    parts = [text(12, 26, "arm"), text(170, 26, "sample, threshold", "middle")]
    parts += [text(336, 26, "reward", "middle"), text(468, 26, "seen", "end")]
    for t, (arm, level, sample) in enumerate(rows):
        y, reached = TOP + LINE * t, sample >= level
        parts += [text(18, y + 12, str(arm)), bar(60, y, 270 * min(sample, level), "seen")]
        if reached:
            parts.append(bar(60 + 270 * level, y, 270 * (sample - level), "hidden"))
        parts += [upright(60 + 270 * level, y - 6, 26, "mark")]
        parts.append(dot(336, y + 7, "1" if reached else "0", "seen"))
        parts.append(text(468, y + 12, "only the 1" if reached else "the sample", "end"))
    return [*parts, *legend(TOP + LINE * 4 + 14, "seen", "hidden (censored)", "threshold")]


def delayed() -> list[str]:
    """Draw rewards from the round of the pull to that of the arrival, and the sums that arrive."""
    pulls = ((0, 1, 3), (1, 0, 1), (1, 1, 1), (0, 1, 1), (1, 1, 2), (1, 0, 1))
    sums = [0] * 7
    top, bottom = TOP + 14, TOP + 112
    parts = [text(12, 26, "arm"), text(12, top + 5, "earned"), text(12, bottom + 5, "arrives")]
    for t, (arm, reward, delay) in enumerate(pulls):
        begin, end = column(t), column(t + delay)
        sums[t + delay] += reward
        parts += [text(begin, 26, str(arm), "middle"), dot(begin, top, str(reward), "hidden")]
        parts += arrow(begin, top + 10, end, bottom - 12)
    parts += [dot(column(t), bottom, str(total), "seen") for t, total in enumerate(sums)]
    parts += [*rounds(bottom + 20, len(sums))]
    return [*parts, *legend(bottom + 74, "sum of a round, seen", "hidden, if anonymous")]


def arrow(x: float, y: float, end: float, bottom: float) -> list[str]:
    """Return an arrow from a place to another one below it, at which it points straight down."""
    stop = bottom - 8  # where its head begins
    bend = f"C{x:g} {y + 50:g} {end:g} {y + 30:g} {end:g} {stop:g}"
    head = f'<path d="M{end - 5:g} {stop:g}h10l-5 8z" class="head"/>'
    return [f'<path d="M{x:g} {y:g}{bend}" class="line"/>', head]


def rounds(y: float, count: int) -> list[str]:
    """Return an axis of rounds, from 1."""
    first, last = column(0), column(count - 1)
    parts = [f'<path d="M{first - 20:g} {y:g}H{last + 20:g}" class="line"/>']
    parts += [upright(column(t), y, 6, "line") for t in range(count)]
    parts += [text(column(t), y + 24, str(t + 1), "middle", "note") for t in range(count)]
    return [*parts, text(12, y + 24, "round", kind="note")]


def column(round_: int) -> float:
    """Return the place of a round."""
    return 90 + 58 * round_


def semibandit() -> list[str]:
    """Draw what each arm is given against what it needs, and the losses seen."""
    rows = (
        (0.5, 0.4, 0, "enough"), (0.3, 0.55, 1, "too little"),
        (0.2, 0.35, 0, "luck"), (0.0, 0.6, 1, "too little"),
    )  # fmt: skip
    parts = [text(12, 26, "arm"), text(170, 26, "given, and needed", "middle")]
    parts += [text(326, 26, "loss", "middle"), text(468, 26, "why (hidden)", "end")]
    for arm, (given, needed, loss, why) in enumerate(rows):
        y = TOP + LINE * arm
        parts += [text(18, y + 12, str(arm)), bar(60, y, 390 * given, "seen")]
        parts += [upright(60, y - 3, 20, "line"), upright(60 + 390 * needed, y - 6, 26, "need")]
        parts.append(dot(326, y + 7, str(loss), "seen"))
        parts.append(text(468, y + 12, why, "end", "note"))
    return [*parts, *legend(TOP + LINE * 4 + 14, "given, and loss: seen", need="needed: hidden")]


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


def legend(y: float, seen: str, hidden: str = "", mark: str = "", need: str = "") -> list[str]:
    """Return what the kinds of marks mean, in one line."""
    parts, x = [], 12.0
    for words, kind in ((seen, "seen"), (hidden, "hidden"), (mark, "mark"), (need, "need")):
        if not words:
            continue
        if kind in ("seen", "hidden"):
            parts.append(bar(x, y - 11, 18, kind))
        else:
            parts.append(upright(x + 9, y - 14, 20, kind))
        parts.append(text(x + 26, y + 1, words, kind="note"))
        x += 52 + 8.4 * len(words)
    return parts


PICTURES: Final[dict[str, tuple[int, Callable[[], list[str]]]]] = {
    "stochastic": (TOP + LINE * 3 + 40, stochastic),
    "thresholding": (TOP + LINE * 4 + 30, thresholding),
    "threshold": (TOP + LINE * 4 + 30, threshold),
    "delayed": (TOP + 204, delayed),
    "semibandit": (TOP + LINE * 4 + 30, semibandit),
    "resource": (TOP + LINE * 4 + 30, resource),
}
"""The height and the content of the picture of each setting."""


LABELS: Final = {"bluebirds": 64, "ducks": 73, "web sites": 35}
"""Labels an item until all are settled, by `keyhole reproduce enough-labels --scale paper`."""
FIXED: Final = 289
"""A fixed number of labels an item with the same guarantee."""
SHARE: Final = 300 / FIXED


def labels_until_sure() -> list[str]:
    """Return the picture of the first page: labels until sure, and a fixed number of them."""
    parts = [text(14, 28, "Answers bought for each item, on average", kind="note")]
    y = TOP
    for name, labels in LABELS.items():
        parts.append(text(14, y + 22, name))
        parts += [bar(110, y, FIXED * SHARE, "head"), bar(110, y + 17, labels * SHARE, "seen")]
        parts += [text(420, y + 12, str(FIXED)), text(120 + labels * SHARE, y + 30, f"{labels}")]
        y += 48
    parts += [
        bar(110, y, 14, "head"),
        text(132, y + 12, "the same number for each item"),
    ]
    parts += [bar(110, y + 22, 14, "seen"), text(132, y + 34, "until Keyhole is sure of it")]
    return parts


def pictures() -> dict[Path, str]:
    """Return the text of each file."""
    models = {
        IMAGES / f"model-{name}.svg": picture(height, draw())
        for name, (height, draw) in PICTURES.items()
    }
    return models | {IMAGES / "labels-until-sure.svg": picture(TOP + 194, labels_until_sure())}


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
