"""Broken links, networks, large pages, meaningless texts and missing notebooks are found."""

import re

import pytest

from tools.check_site_files import GALLERIES, LARGEST, SCRIPTS, Site


@pytest.fixture
def write_site(tmp_path):
    """Return a function that writes files, and returns them as a site."""

    def write(**files):
        for name, text in files.items():
            path = tmp_path / re.sub(r"_(html|css)$", r".\1", name.replace("__", "/"))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return Site(tmp_path)

    return write


def test_links_that_lead_somewhere_are_no_faults(write_site):
    site = write_site(
        index_html="""<a href="part/a.html#here">a</a> <a href="part/">folder</a>
            <a href="#">top</a> <a href="#own">own</a> <p id="own"></p>
            <a href="part/a.html?q=1">query</a>
            <a href="https://example.org/#x">elsewhere</a> <a href="mailto:a@example.org">mail</a>
            <img alt="" src="part/a%20b.png" srcset="part/a%20b.png, part/a%20b.png 2x">
            <img alt="Two curves" src="data:image/png;base64,AA=="> <link rel="canonical" href="https://a.org/">""",
        part__a_html='<h1 id="here">a</h1> <a href="../index.html#own">back</a>',
        part__index_html="",
        **{"part__a b.png": ""},
    )
    assert site.find_faults() == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('<a href="b.html">b</a>', "the link 'b.html' is broken: there is no b.html"),
        ('<a href="../b.html">b</a>', "the link '../b.html' is broken: there is no ../b.html"),
        ('<a href="#b">b</a>', "the link '#b' is broken: index.html has no element 'b'"),
        ('<img alt="" src="b.png">', "the link 'b.png' is broken: there is no b.png"),
        ('<link rel="next" href="b.html">', "the link 'b.html' is broken: there is no b.html"),
        ('<script src="https://a.org/b.js"></script>', "fetches https://a.org/b.js from a network"),
        ('<img alt="" src="//a.org/b.png">', "fetches //a.org/b.png from a network"),
        ('<img alt="" srcset="http://a.org/b 2x">', "fetches http://a.org/b from a network"),
        ('<link rel="stylesheet" href="HTTPS://a.org/">', "fetches HTTPS://a.org/ from a network"),
        ("<style>@import 'http://a.org/';</style>", "fetches http://a.org/ from a network"),
        ('<p style="background: url(http://a.org/b)">', "fetches http://a.org/b from a network"),
        ("a" * (LARGEST + 1), "has 500,001 bytes; at most 500,000 are allowed"),
    ],
)
def test_each_fault_is_named_with_its_page(write_site, text, fault):
    assert write_site(index_html=text).find_faults() == [f"index.html: {fault}"]


def test_style_sheets_are_read_too(write_site):
    site = write_site(_static__a_css="@font-face { src: url('https://a.org/font') }", index_html="")
    assert site.find_faults() == ["_static/a.css: fetches https://a.org/font from a network"]


@pytest.mark.parametrize("folder", GALLERIES)
def test_pages_of_galleries_may_be_large(write_site, folder):
    name = folder.replace("/", "__") + "index_html"
    assert write_site(**{name: "a" * (LARGEST + 1)}).find_faults() == []


@pytest.mark.parametrize("folder", SCRIPTS)
def test_a_page_made_of_a_script_links_its_notebook(write_site, folder):
    name = folder.replace("/", "__")
    link = '<a href="../_downloads/1f/regret.ipynb">notebook</a>'
    site = write_site(
        **{f"{name}index_html": "", f"{name}regret_html": link, f"{name}worst_html": link},
        **{"_downloads__1f__regret.ipynb": ""},
    )
    fault = f"{folder}worst.html: has no link to its notebook worst.ipynb"
    assert site.find_faults() == [fault]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "the picture regret_by_round_001.png has no alternative text"),
        *(
            (f'alt="{alt}"', f"the alternative text of regret_by_round_001.png is {what}")
            for alt, what in [
                ("regret by round", "a file name: 'regret by round'"),
                ("images/a-b.svg", "a file name: 'images/a-b.svg'"),
            ]
        ),
        ('alt=""', ""),
        ('alt="Regret of two policies by round"', ""),
    ],
)
def test_an_alternative_text_is_no_file_name(write_site, text, fault):
    file = "regret_by_round_001.png"
    site = write_site(index_html=f'<img {text} src="{file}">', **{file: ""})
    assert site.find_faults() == ([f"index.html: {fault}"] if fault else [])
