"""What every page must be, whatever it shows."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

VOID = {"meta", "br", "img", "link", "hr", "input"}


@dataclass
class Element:
    tag: str
    attrs: dict
    text: str = ""
    inner: list = field(default_factory=list)

    def all(self, *tags):
        """Return the elements within that have one of these tags, in their order."""
        found = []
        for one in self.inner:
            found += [one] * (one.tag in tags) + one.all(*tags)
        return found

    def words(self):
        """Return all text within."""
        return " ".join(self.text.split())


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = [Element("page", {})]

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), f"an attribute of {tag} is there twice"
        one = Element(tag, dict(attrs))
        self.open[-1].inner.append(one)
        if tag not in VOID:
            self.open.append(one)

    def handle_startendtag(self, tag, attrs):
        self.open[-1].inner.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open[-1].tag == tag, f"</{tag}> ends <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data):
        for one in self.open:
            one.text += data


def parse(text):
    """Return a page as a tree; every element must end where it should."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert len(reader.open) == 1, f"{reader.open[-1].tag} does not end"
    return reader.open[0]


def check_page(text, known=()):
    """Refuse a page that cannot be read by all; return its tree.

    `known` are places that links may lead to though they are not there.
    """
    assert text.startswith("<!doctype html>")
    page = parse(text)
    (html,) = page.all("html")
    assert html.attrs["lang"] == "en"
    assert any(one.attrs.get("name") == "viewport" for one in page.all("meta"))
    assert page.all("title")[0].words() == page.all("h1")[0].words()
    _check_headings(page)
    _check_links(page, set(known))
    for table in page.all("table"):
        check_table(table)
    for one in page.all("img"):
        assert one.attrs["alt"]
    for svg in page.all("svg"):
        # Charts have their text beside the lines, as HTML; other figures have it within.
        assert svg.all("text") or svg.attrs.get("aria-hidden") == "true", "no text in a figure"
    for figure in page.all("figure"):
        assert figure.all("figcaption")[0].words()
        if "claim-bars" in figure.attrs.get("class", ""):  # a picture that is made of links
            assert all(one.attrs["aria-label"] for one in figure.all("a"))
            continue
        (shown,) = [one for one in figure.all("div") if one.attrs.get("role") == "img"]
        assert len(shown.attrs["aria-label"]) > 10
    return page


def check_table(table):
    """Refuse a table that cannot be read out."""
    assert [one.tag for one in table.inner] == ["caption", "thead", "tbody"]
    caption, head, body = table.inner
    assert caption.words()
    assert {one.attrs["scope"] for one in head.all("th")} == {"col"}
    columns = len(head.all("th", "td"))  # a column without a name has no heading
    for row in body.all("tr"):
        assert [one.tag for one in row.inner] == ["th", *["td"] * (columns - 1)]
        assert row.inner[0].attrs["scope"] == "row"


def _check_headings(page):
    levels = [int(one.tag[1]) for one in page.all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def _check_links(page, known):
    everything = [one for tag in _tags(page) for one in page.all(tag)]
    ids = [one.attrs["id"] for one in everything if "id" in one.attrs]
    assert len(ids) == len(set(ids)), "an id is there twice"
    assert all(one.attrs.get("id") for one in page.all("h2", "h3")), "a heading has no address"
    local = [one.attrs["href"] for one in page.all("a") if one.attrs["href"].startswith("#")]
    assert {link[1:] for link in local} <= known.union(ids)


def _tags(page):
    return {page.tag}.union(*(_tags(one) for one in page.inner))
