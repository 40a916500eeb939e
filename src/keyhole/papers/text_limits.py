"""Short texts of an entry (a reproduced experiment), its question and claims, for its page."""

from typing import Annotated, Final

from pydantic import AfterValidator

from keyhole.validate import check_line, short_repr

QUESTION_WORDS: Final = 14
SHORT_WORDS: Final = 12


def _check_few_words(text: str, most: int) -> str:
    """Return a text if it is empty, or one line of at most `most` words."""
    if not text:
        return text
    # Pydantic's path, which begins the message, ends where this name begins.
    check_line("", text)
    if text != text.strip():
        raise ValueError(f" must not begin or end with a space, got {short_repr(text)}")
    words = len(text.split())
    if words > most:
        raise ValueError(f" must have at most {most} words, got {words}: {short_repr(text)}")
    return text


def _check_question(text: str) -> str:
    """Return a text if it is empty, or a question of few words."""
    _check_few_words(text, QUESTION_WORDS)
    if text and not text.endswith("?"):
        raise ValueError(f" must end with a question mark, got {short_repr(text)}")
    return text


def _check_short(text: str) -> str:
    """Return a text if it is empty, or a claim in few words."""
    return _check_few_words(text, SHORT_WORDS)


Question = Annotated[str, AfterValidator(_check_question)]
"""A question that can be answered with yes or no, in at most 14 words; or empty."""

ShortText = Annotated[str, AfterValidator(_check_short)]
"""A claim in at most 12 plain words that are understood alone; or empty."""
