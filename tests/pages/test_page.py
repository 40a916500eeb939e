from keyhole.pages.page import Answer, Page, Section, Table, Text, write_page
from tests.html import check_page


def shown(tmp_path, **parts):
    path = write_page(tmp_path / "page.html", Page(title="Is it so?", **parts))
    return check_page(path.read_text())


def test_the_answer_comes_before_the_figures_and_these_before_what_is_folded(tmp_path):
    page = shown(
        tmp_path,
        answer=[Answer("5 of 6 hold.", "One run.", mark="Mostly.", status="undecided")],
        figures=[Text("left")],
        beside=[Text("right")],
        sections=[Section("tables", "Tables", [Text("below")], note="2 tables")],
    )
    (main,) = page.all("main")
    assert (
        main.words() == "Is it so? Mostly. 5 of 6 hold. One run. left right Tables 2 tables below"
    )
    (mark,) = page.all("strong")
    assert (mark.words(), mark.attrs["class"]) == ("Mostly.", "undecided")
    (fold,) = page.all("details")
    assert "open" not in fold.attrs
    assert fold.all("summary")[0].words() == "Tables 2 tables"


def test_one_column_is_as_wide_as_the_page(tmp_path):
    for parts, columns in (
        ({"figures": [Text("a")]}, "first"),
        ({"beside": [Text("a")]}, "first"),
        ({"figures": [Text("a")], "beside": [Text("b")]}, "first two"),
    ):
        page = shown(tmp_path, answer=[], **parts)
        (first,) = [one for one in page.all("div") if "first" in one.attrs.get("class", "")]
        assert first.attrs["class"] == columns
    page = shown(tmp_path, answer=[])
    assert not page.all("div", "details")


def test_sections_within_a_section_are_not_folded(tmp_path):
    inner = Section("inner", "Inner", [Text("text")])
    page = shown(
        tmp_path, answer=[], sections=[Section("outer", "Outer", sections=[inner], is_open=True)]
    )
    (fold,) = page.all("details")
    assert "open" in fold.attrs
    assert [one.attrs["id"] for one in page.all("h2", "h3")] == ["outer", "inner"]


def test_a_column_without_a_name_has_no_heading(tmp_path):
    table = Table("Two columns.", ["name", ""], [["a", "b"]])
    page = shown(tmp_path, answer=[table])
    assert [one.words() for one in page.all("th")] == ["name", "a"]


def test_what_a_page_is_given_is_text(tmp_path):
    page = shown(tmp_path, answer=[Answer("a < b", "<i>", mark="<b>")])
    assert [one.words() for one in page.all("p")] == ["<b> a < b", "<i>"]
