"""The check of names sees where a phone breaks them."""

from tools import names_in_browser, site_in_browser

PAGE = '<!doctype html><html lang="en"><title>A</title><article style="width: 6em">{}</article>'


def find_faults(browser, folder, text):
    (folder / "reference").mkdir(exist_ok=True)
    (folder / "reference" / "a.html").write_text(PAGE.format(text))
    with site_in_browser.serve(folder) as address:
        return list(names_in_browser.find_faults(browser, address, folder))


def test_a_name_broken_inside_a_word_is_a_fault(browser, tmp_path):
    style = 'style="word-break: break-all; font: 1em monospace; width: 8ch"'
    (fault,) = find_faults(browser, tmp_path, f"<p {style}>Thompsonian</p>")
    assert fault == ("reference/a.html, 390 pixels: a name is broken inside a word: Thompson|ian")


def test_names_broken_between_their_words_are_none(browser, tmp_path):
    text = "<p>Kaplan<wbr>Meier<wbr>Thompson keyhole.<wbr>thresholding.<wbr>UCB</p>"
    assert find_faults(browser, tmp_path, text) == []
    style = 'style="word-break: break-all; font: 1em monospace; width: 6ch"'
    assert find_faults(browser, tmp_path, f"<p {style}>KaplanMeier</p>") == []
    assert find_faults(browser, tmp_path, f"<pre {style}>Thompsonian</pre>") == []


def test_the_pages_with_the_longest_names_are_examined(tmp_path):
    (tmp_path / "reference").mkdir()
    for number in range(names_in_browser.COUNT + 1):
        text = f"<code>{'x' * (8 + number)}<wbr>y</code><pre>{'z' * 99}</pre>"
        (tmp_path / "reference" / f"{number}.html").write_text(text)
    found = names_in_browser.find_pages(tmp_path)
    assert len(found) == names_in_browser.COUNT
    assert found[0].stem == str(names_in_browser.COUNT)
    assert names_in_browser.find_longest_name(found[-1]) == 10
