"""Short texts of an entry (a reproduced experiment), its question and claims, for its page."""

from typing import Annotated, Any, Final

from pydantic import AfterValidator

from keyhole.validate import check_line, short_repr

QUESTION_WORDS: Final = 14
SHORT_WORDS: Final = 12


def _few_words(most: int, ending: str = "") -> Any:
    """Return a validator of texts: empty, or one line of at most `most` words with this ending."""

    def check(text: str) -> str:
        if not text:
            return text
        # Pydantic's path, which begins the message, ends where this name begins.
        check_line("", text)
        if text != text.strip():
            raise ValueError(f" must not begin or end with a space, got {short_repr(text)}")
        words = len(text.split())
        if words > most:
            raise ValueError(f" must have at most {most} words, got {words}: {short_repr(text)}")
        if not text.endswith(ending):
            raise ValueError(f" must end with a question mark, got {short_repr(text)}")
        return text

    return AfterValidator(check)


Question = Annotated[str, _few_words(QUESTION_WORDS, "?")]
"""A question that can be answered with yes or no, in at most 14 words; or empty."""

ShortText = Annotated[str, _few_words(SHORT_WORDS)]
"""A claim in at most 12 plain words that are understood alone; or empty."""
