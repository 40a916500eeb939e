"""Validation of input: error messages name the field, the allowed values and the given value."""

import math
import re
import sys
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, MappingView, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

_Choice = TypeVar("_Choice", bound=str)

_INT64: Final = 2**63
_MAX_SHOWN_CHARACTERS: Final = 200
_MAX_SHOWN_BITS: Final = 256
_MAX_LISTED_WORDS: Final = 28  # a message lists all allowed words if there are at most so many
_FIRST_LISTED_WORDS: Final = 8  # of more words, a message lists only the first ones
_MAX_SUGGESTIONS: Final = 3
_MIN_POWER_OF_TWO: Final = 2**20  # from here on, powers of two are shown as 2**n
# Unicode's categories of control characters, surrogates, and line and paragraph separators.
_NOT_ON_A_LINE: Final = ("Cc", "Cs", "Zl", "Zp")
_NON_LETTERS: Final = re.compile(r"[\W\d_]+")
_NAMES_OF_TOTALS: Final = frozenset(["total", "totals", "grand total", "subtotal", "sum"])
_VARIATION_SELECTORS: Final = tuple(map(chr, range(0xFE00, 0xFE10)))
_NOT_CHARACTERS: Final = ("\ufffe", "\uffff")
# Letters and marks without a shape: grapheme joiner, Hangul fillers, Khmer inherent vowels.
_SHAPELESS: Final = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
_JOINERS: Final = ("\u200c", "\u200d")
_ESCAPED_JOINER: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u(200[cd])")
_FIRST_JOINED: Final = "\u0590"  # joiners change nothing in scripts before this character
# The bidirectional classes of Arabic letters, of signs such as a virama, and of emoji.
_JOINED_CLASSES: Final = {"AL", "NSM", "ON"}


class SequenceLike(Protocol):
    """The type of sequences, arrays and columns of data frames, for type checkers."""

    def __len__(self) -> int:
        """Return the number of entries."""

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the entries."""

    def __getitem__(self, index: int, /) -> Any:
        """Return an entry."""


@dataclass(frozen=True)
class Range:
    """The numbers that a field may take: from `ge` or above `gt`, up to `le` or below `lt`.

    `ends` has the lower and the upper end; an end that is not given is infinite. `gt` and `lt`
    themselves are not allowed.
    """

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    ends: tuple[float, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the ends here, since a learner uses them in every round."""
        low = max((end for end in (self.ge, self.gt) if end is not None), default=-math.inf)
        high = min((end for end in (self.le, self.lt) if end is not None), default=math.inf)
        object.__setattr__(self, "ends", (low, high))

    def __contains__(self, value: float) -> bool:
        """Return whether a value is allowed."""
        low, high = self.ends
        return low <= value <= high and value != self.gt and value != self.lt

    def __str__(self) -> str:
        """Return the range as words that can follow "must"."""
        low, high = self.ends
        if -math.inf < low and high < math.inf:
            opening = "(" if self.ge is None else "["
            closing = ")" if self.le is None else "]"
            return f"lie in {opening}{_format_end(low)}, {_format_end(high)}{closing}"
        ends = {"at least": self.ge, "above": self.gt, "at most": self.le, "below": self.lt}
        for rule, end in ends.items():
            if end is not None:
                return f"be {rule} {_format_end(end)}"
        return "be a finite number"


def _format_end(value: float) -> str:
    """Return an end of a range as text; a large power of two has the form 2**n."""
    if isinstance(value, int) and value >= _MIN_POWER_OF_TWO and value & (value - 1) == 0:
        return f"2**{value.bit_length() - 1}"
    return f"{value:g}"


ANY: Final = Range()
SEED_RANGE: Final = Range(ge=0, lt=2**63)
"""The allowed seeds."""
DEFAULT_SEED: Final = 0
_UNIT: Final = Range(ge=0, le=1)
# Tuples and not `int | float`: learners check a value in every round, and to make a union of types
# takes 0.3 us (measured).
_BOOL_TYPES: Final = (bool, np.bool_)
_INTEGER_TYPES: Final = (int, np.integer)
_NUMBER_TYPES: Final = (int, float, np.integer, np.floating)


def short_repr(value: Any) -> str:
    """Return a value's `repr` for an error message: on one line, and truncated.

    A data frame is shown by its columns.

    Examples
    --------
    >>> short_repr("yes"), short_repr(10**400)
    ("'yes'", 'a whole number of 401 digits')
    >>> import pyarrow
    >>> short_repr(pyarrow.table({"day": [1], "sales": [2]}))
    'a data frame with the columns day, sales'
    """
    if isinstance(value, int) and value.bit_length() > _MAX_SHOWN_BITS:
        # Python refuses to print the longest integers.
        return f"a whole number of {int(value.bit_length() * math.log10(2)) + 1} digits"
    if (names := data_frame_column_names(value)) is not None:
        text = f"a data frame with the columns {', '.join(names)}"
    else:
        text = " ".join(_printable_repr(value).split("\n"))
    text = escape_controls(text[: _MAX_SHOWN_CHARACTERS + 1])
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else f"{text[:_MAX_SHOWN_CHARACTERS]}..."


def _printable_repr(value: Any) -> str:
    try:
        # `repr` escapes all joiners. Here they are restored, and later `escape_controls` escapes
        # the joiners that the text does not need.
        return _ESCAPED_JOINER.sub(lambda joiner: chr(int(joiner[1], 16)), repr(value))
    except ValueError:  # the value holds a number that is longer than Python prints
        return f"a {type(value).__name__} that is too long to print"


def escape_controls(text: str, allowed: str = "") -> str:
    r"""Return a text in which control and invisible characters are escaped, except `allowed`.

    Marks of direction and other characters without a shape could make a name look like another
    name. Spaces stay. The two joiners of letters and emoji stay where writing needs them: between
    Arabic letters (as in Persian), beside a virama (as in Hindi), and within an emoji.

    Examples
    --------
    >>> escape_controls("a\u202eb\u200d\x9bc")
    'a\\u202eb\\u200d\\x9bc'
    """
    if text.isascii() and text.isprintable():  # the common case first
        return text
    suspects = {c for c in set(text) - set(allowed) if not c.isprintable() or c in _SHAPELESS}
    invisible = {c for c in suspects if unicodedata.category(c) != "Zs"}
    if not invisible:
        return text
    return "".join(
        c.encode("unicode_escape").decode() if c in invisible and not _is_joining(text, i) else c
        for i, c in enumerate(text)
    )


def _is_joining(text: str, position: int) -> bool:
    """Return whether a character is a joiner between two characters that it may join."""
    neighbours = text[max(position - 1, 0) : position + 2 : 2]
    if text[position] not in _JOINERS or len(neighbours) < 2 or min(neighbours) < _FIRST_JOINED:
        return False
    return not _JOINED_CLASSES.isdisjoint(map(unicodedata.bidirectional, neighbours))


def escape_html(text: str) -> str:
    """Escape a text for HTML, and its invisible characters as `escape_controls` does."""
    from html import escape  # imported late, since only pages need its table of names

    return escape(escape_controls(text, "\n\t"))


def data_frame_column_names(value: Any) -> list[str] | None:
    """Return the column names of a data frame (pandas, Arrow, Polars); None for other values."""
    names = getattr(value, "column_names", getattr(value, "columns", None))
    if names is None or len(getattr(value, "shape", ())) != 2:
        return None
    return [str(name) for name in names]


def check_line(name: str, value: Any) -> str:
    """Return `value` if it is a text that can stand on one line of a figure or a terminal."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, got {short_repr(value)}")
    if not value:
        raise ValueError(f"{name} must not be empty, got ''")
    if value.isascii() and value.isprintable():  # the common case first
        return value
    if any(unicodedata.category(c) in _NOT_ON_A_LINE or c in _NOT_CHARACTERS for c in value):
        raise ValueError(
            f"{name} must have no control characters or line ends, got {short_repr(value)}"
        )
    return value


def check_short_line(name: str, value: Any, length: int) -> str:
    """Return `value` if it is a text for one line with at most `length` characters."""
    if len(check_line(name, value)) > length:
        raise ValueError(f"{name} must have at most {length} characters, got {len(value):,}")
    return str(value)


@contextmanager
def explain_memory_errors(field: str) -> Iterator[None]:
    """Convert memory errors in the block to a `ValueError` about `field`."""
    try:
        yield
    except (MemoryError, OverflowError) as error:
        raise ValueError(
            f"{field} must fit into memory: {error or 'there is too little'}"
        ) from None


def check_number(name: str, value: Any, allowed: Range = ANY) -> float:
    """Return `value` as a float; refuse all but finite numbers in the range."""
    # The common case comes first, since a learner is told a number in every round.
    if type(value) is float and math.isfinite(value) and value in allowed:
        return value
    if isinstance(value, bool) or not isinstance(value, _NUMBER_TYPES):
        raise TypeError(f"{name} must be a number, got {short_repr(value)}")
    try:
        number = float(value)
    except OverflowError:  # a whole number beyond all floats
        number = math.inf if value > 0 else -math.inf
    if number not in allowed or not math.isfinite(number):
        expected_range = ANY if number in allowed else allowed
        got = short_repr(value) if isinstance(value, int) else f"{value}"
        raise ValueError(f"{name} must {expected_range}, got {got}")
    return number


def check_unit_interval(name: str, value: Any) -> float:
    """Return `value` as a float if it is a number in [0, 1], or True or False for 1 or 0.

    True and False are accepted, since the most common reward is whether something happened.
    """
    if type(value) in (float, int, bool) and 0 <= value <= 1:  # the common case first
        return float(value)
    if isinstance(value, _BOOL_TYPES):
        return float(value)
    return check_number(name, value, _UNIT)


def check_integer(name: str, value: Any, allowed: Range = ANY) -> int:
    """Return `value` as an int; refuse floats, even whole numbers such as 2.0."""
    if type(value) is int and value in allowed and -_INT64 <= value < _INT64:  # the common case
        return value
    if isinstance(value, _BOOL_TYPES) or not isinstance(value, _INTEGER_TYPES):
        raise TypeError(f"{name} must be a whole number, got {short_repr(value)}")
    integer = int(value)
    if integer not in allowed:
        raise ValueError(f"{name} must {allowed}, got {short_repr(integer)}")
    if not -_INT64 <= integer < _INT64:  # the integers of compiled code
        raise ValueError(f"{name} must lie in [-2**63, 2**63), got {short_repr(integer)}")
    return integer


def check_flag(name: str, value: Any) -> bool:
    """Return `value` if it is True or False; errors use the words of files, true and false.

    Examples
    --------
    >>> check_flag("log", 1)
    Traceback (most recent call last):
    TypeError: log must be true or false, got 1
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be true or false, got {short_repr(value)}")
    return value


def column_to_array(values: Any) -> Any:
    """Return a data frame's column (pandas, Arrow, Polars) as an array, other values unchanged."""
    if isinstance(values, Sequence | np.ndarray) or not hasattr(values, "__array__"):
        return values
    column = np.asarray(values)
    return column if column.ndim == 1 else values


def check_seed(seed: Any) -> int:
    """Return a seed as an int; it must be at least 0 and below 2**63.

    Examples
    --------
    >>> check_seed(None)
    Traceback (most recent call last):
    TypeError: seed must be a whole number, got None
    """
    return check_integer("seed", seed, SEED_RANGE)


def check_vector(
    name: str, values: Any, allowed: Range = ANY, count: int | None = None
) -> NDArray[np.float64]:
    """Return a sequence or a column as a float64 vector of at least one number.

    If `count` is given, the vector must have `count` numbers.
    """
    values = column_to_array(values)
    if isinstance(values, str | bytes) or not isinstance(values, Sequence | np.ndarray):
        raise TypeError(f"{name} must be a list of numbers, got {short_repr(values)}")
    if len(values) == 0:
        raise ValueError(f"{name} must have at least one entry, got none")
    if count is not None and len(values) != count:
        raise ValueError(f"{name} must have {count} entries, got {len(values)}")
    # The common cases come first, since distributions check thousands of points of integration, and
    # files hold a million recorded values.
    vector = None
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiu" and values.ndim == 1:
        vector = values.astype(np.float64)
    elif isinstance(values, list) and set(map(type, values)) <= {float, int}:
        with suppress(OverflowError):  # a whole number beyond all floats
            vector = np.array(values, np.float64)
    if vector is not None:
        ends = float(vector.min()), float(vector.max())
        if all(math.isfinite(end) and end in allowed for end in ends):
            return vector
    return np.array([check_number(f"{name}[{i}]", v, allowed) for i, v in enumerate(values)])


def check_each(
    name: str, values: NDArray[Any], is_allowed: NDArray[np.bool_], allowed: str
) -> None:
    """Refuse an array with an entry that is not allowed; `allowed` is the text of the rule.

    Examples
    --------
    >>> counts = np.array([1, 0])
    >>> check_each("counts", counts, counts >= 1, "be at least 1")
    Traceback (most recent call last):
    ValueError: counts[1] must be at least 1, got 0
    """
    for entry in np.flatnonzero(~is_allowed)[:1]:
        raise ValueError(f"{name}[{entry}] must {allowed}, got {values[entry]}")


def check_sequence(name: str, values: Any, expected: str = "a sequence of names") -> list[Any]:
    """Return the entries of a sequence, a column or a generator, in their order.

    Sets are refused, since they have no order. Texts, mappings and data frames are refused, since
    their iteration does not give their entries.

    Examples
    --------
    >>> check_sequence("arms", {"a": 1, "b": 2})
    Traceback (most recent call last):
    TypeError: arms must be a sequence of names, got {'a': 1, 'b': 2}
    """
    is_data_frame = data_frame_column_names(values) is not None
    values = column_to_array(values)
    has_order = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping)
    # The views of a dict are sets, too, but have an order.
    if isinstance(values, Set) and not isinstance(values, MappingView):
        has_order = False
    if is_data_frame or not has_order or getattr(values, "ndim", 1) != 1:
        hint = "; for a column of a data frame pass df['arm'], say" if is_data_frame else ""
        raise TypeError(f"{name} must be {expected}{hint}, got {short_repr(values)}")
    return list(values)


def check_distinct(name: str, values: Iterable[str]) -> tuple[str, ...]:
    """Return words as a tuple; refuse duplicates and an empty sequence.

    Examples
    --------
    >>> check_distinct("arms", ["a", "b", "a"])
    Traceback (most recent call last):
    ValueError: arms must differ, got 'a' twice
    """
    names = tuple(values)
    if not names:
        raise ValueError(f"{name} must have at least one entry, got none")
    word, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise ValueError(f"{name} must differ, got {word!r} twice")
    return names


def check_names(name: str, values: Iterable[Any], earlier: Iterable[str] = ()) -> tuple[Any, ...]:
    r"""Return names as `check_distinct` does; warn if one looks like another, or an `earlier` one.

    Such names differ only in invisible characters (zero-width characters, direction marks, byte
    order marks), in spaces, in forms of an accent, or as "north", "North" and "NORTH" do. They
    still count as different names. A name such as "Total" gives a warning, too, since it probably
    comes from a row of totals.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     _ = check_names("arms", ["red", "blue", "red\u200b"])
    >>> print(caught[0].message)
    'red' and 'red\u200b' look alike, but are two names: write one of them otherwise
    """
    names = check_distinct(name, values)
    texts = {_visible_text(text): text for text in earlier}
    for text in filter(lambda value: isinstance(value, str), names):
        if text != (first := texts.setdefault(_visible_text(text), text)):
            look_alike = f"{first!a} and {text!a} look alike, but are two names"
            warn_user(f"{look_alike}: write one of them otherwise")
        if len(names) > 1 and text.strip().casefold() in _NAMES_OF_TOTALS:
            warn_user(f"{text!a} is one of the {name}: leave out a row of totals")
    return names


def warn_user(text: str) -> None:
    """Warn, and name the line of code outside Keyhole that called Keyhole."""
    frame = sys._getframe(1)
    level = 2
    while frame.f_back and f"{frame.f_globals.get('__name__')}.".startswith("keyhole."):
        frame = frame.f_back
        level += 1
    warnings.warn(text, stacklevel=level)


def _visible_text(name: str) -> str:
    """Return a name without invisible characters, with one form of accents, spaces and capitals."""
    if not name.isascii():
        categories = ((c, unicodedata.category(c)) for c in name if c not in _VARIATION_SELECTORS)
        visible = (" " if category == "Zs" else c for c, category in categories if category != "Cf")
        name = unicodedata.normalize("NFC", "".join(visible))
    name = " ".join(name.split())
    # Capitals are kept in ids such as aB3x, since two ids may differ only in capitals.
    is_word = name in (name.lower(), name.upper(), name.capitalize(), name.title())
    return name.casefold() if is_word else name


def check_choice(name: str, value: Any, allowed: Iterable[_Choice], listing: str = "") -> _Choice:
    """Return `value` if it is one of the allowed words.

    The error lists the allowed words. If there are too many, it lists the first few, and adds the
    text `listing`, which says where all are listed.
    """
    choices = list(allowed)
    if isinstance(value, str) and value in choices:
        return value
    text = value if isinstance(value, str) else short_repr(value)
    choices_text = ", ".join(choices)
    if len(choices) > _MAX_LISTED_WORDS:
        hidden_count = len(choices) - _FIRST_LISTED_WORDS
        choices_text = ", ".join(choices[:_FIRST_LISTED_WORDS])
        choices_text += f" and {hidden_count:,} more{listing and f' ({listing})'}"
    hint = suggestion(text, choices)
    raise ValueError(f"{name} must be one of {choices_text}; got {short_repr(value)}{hint}")


def suggestion(text: str, candidates: Iterable[str]) -> str:
    """Return a hint that asks whether a candidate near to a text was meant; "" if none is near.

    Examples
    --------
    >>> suggestion("selekt", ["select", "update"])
    " (did you mean 'select'?)"
    >>> suggestion("regret", ["rounds", "simple_regret", "aggregate_regret"])
    " (did you mean 'simple_regret' or 'aggregate_regret'?)"
    """
    text = text[:_MAX_SHOWN_CHARACTERS].casefold()
    names = {word.casefold(): word for word in candidates}
    # Candidates that contain the typed text as a whole word come first: "regret" is a word of both
    # 'simple_regret' and 'aggregate_regret', and "lsa" is a word of 'LSA(alpha=1)'.
    matches = [key for key in names if text.isalpha() and text in _NON_LETTERS.split(key)]
    if text in names or not 0 < len(matches) <= _MAX_SUGGESTIONS:
        matches = get_close_matches(text, names, 1)
    return f" (did you mean {' or '.join(repr(names[key]) for key in matches)}?)" if matches else ""
