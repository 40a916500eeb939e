import pytest

from keyhole.papers.sections import claims_section, summary_section
from keyhole.papers.verdicts import Verdict


def verdict(text, status="holds", **more):
    fields = {"source": "here.", "origin": "ours", "detail": "1"} | more
    return Verdict(text=text, status=status, **fields)


def test_the_summary_says_what_became_of_all_claims():
    found = [verdict("It is"), verdict("It is not", "does not hold"), verdict("It was")]
    assert "2 hold, 0 undecided, 1 do not hold" in summary_section(found)


@pytest.mark.parametrize("section", [summary_section, claims_section])
def test_without_claims_nothing_is_said_of_them(section):
    assert section([]) == ""


def test_a_claim_stands_with_its_verdict_and_what_was_found():
    text = claims_section([verdict("LSA <best>", "does not hold", detail="0.1 & more")])
    assert '<td class="verdict does-not-hold">does not hold</td>' in text
    assert "LSA &lt;best&gt;<br><small>ours: here.</small>" in text
    assert "0.1 &amp; more" in text


def test_one_claim_about_several_problems_stands_once():
    one = [verdict("So it is", about=f"P{i}") for i in range(3)]
    text = claims_section([*one, verdict("Or not", "undecided", about="P9")])
    assert text.count("So it is") == 1
    assert text.count("<tbody>") == 2
    assert [f"<td>P{i}</td>" in text for i in (0, 1, 2, 9)] == [True] * 4
    assert "3 hold, 1 undecided, 0 do not hold" in text
