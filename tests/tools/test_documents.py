"""Documents are found by words of either language and read in pages; notes are kept whole."""

from pathlib import Path

import pytest
from carryforward.tools import Toolbox, ToolError
from carryforward.tools.corpus import Corpus, corpus_tools
from carryforward.tools.notes import note_tools
from carryforward.tools.paging import read_page
from carryforward.tools.results import Hit, write_hits
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture
def library(tmp_path: Path) -> Toolbox:
    (tmp_path / "deep").mkdir()
    (tmp_path / "tides.md").write_text(
        "# Tides of Fundy\n\nThe range is 16.3 m.\nBridges are rare.\n\n" + "more. " * 900
    )
    (tmp_path / "deep" / "rivers.txt").write_text("The Amazon carries water. " * 20 + "A bridge is missing.")
    (tmp_path / "dam.md").write_text("# 三峡大坝\n\n坝高181米。\n\n## Numbers\n\n| a | b |\n| height | 181 m |\n")
    (tmp_path / "ignored.bin").write_bytes(b"\xff\xfe")
    return Toolbox(corpus_tools(tmp_path, page_size=1000))


def test_finds_words_in_the_best_document_first(library: Toolbox):
    found = library.call("search", {"query": "tidal range of Fundy"})
    assert found.startswith("1. Tides of Fundy [tides]\n   The range is 16.3 m.")
    assert "181 m" in library.call("search", {"query": "height numbers"})


def test_finds_plural_and_chinese_and_sub_folders(library: Toolbox):
    assert "[deep/rivers]" in library.call("search", {"query": "bridges"})
    assert "坝高181米" in library.call("search", {"query": "大坝 坝高"})
    assert library.call("search", {"query": "volcano"}).startswith("Nothing was found for 'volcano'")


def test_reads_a_document_in_pages_that_lose_nothing(library: Toolbox):
    first = library.call("fetch", {"document": "tides"})
    assert first.endswith('(page 1 of 6; fetch("tides", page=2) brings the next)')
    assert library.call("fetch", {"document": "Tides of Fundy", "page": "6"}).endswith("(page 6 of 6, the last)")
    with pytest.raises(ToolError, match="pages go from 1 to 6"):
        library.call("fetch", {"document": "tides", "page": 7})
    with pytest.raises(ToolError, match="nearest are tides"):
        library.call("fetch", {"document": "tide"})


def test_a_document_id_never_leaves_the_folder(library: Toolbox):
    for outside in ("../secret", "/etc/passwd", "deep/../../secret"):
        with pytest.raises(ToolError, match="there is no document"):
            library.call("fetch", {"document": outside})


def test_a_folder_that_is_not_there_or_empty_is_one_line(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        Corpus(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"holds no \.md or \.txt file"):
        Corpus(tmp_path)


def test_the_packaged_documents_answer_in_both_languages():
    corpus = Corpus()
    assert len(corpus.documents) >= 15
    assert corpus.search("height of Mount Everest by the latest survey")[0].source == "mount-everest"
    assert corpus.search("珠穆朗玛峰 高程")[0].source == "zhumulangma"


@given(st.lists(st.builds(Hit, st.text(max_size=300), st.text(max_size=900), st.text("abc", min_size=1)), max_size=9))
def test_results_are_few_and_short(hits: list[Hit]):
    text = write_hits("q", hits, len(hits), "fetch")
    assert len(text) <= 5 * 400 + 200
    if len(hits) > 5:
        assert f"{len(hits) - 5} more left out" in text.splitlines()[-1]


@given(st.text(max_size=2000), st.integers(20, 300))
def test_pages_hold_the_whole_text_in_order(text: str, size: int):
    pages: list[str] = []
    while True:
        page = read_page(text, len(pages) + 1, size, "page {page}")
        body, _, note = page.rpartition("\n\n(page ") if "\n\n(page " in page else (page, "", ", the last")
        assert len(body) <= size
        pages.append(body)
        if "brings the next" not in note:
            break
    assert "".join("".join(pages).split()) == "".join(text.split())


@given(
    st.text(min_size=1, max_size=60).filter(lambda t: t.split() != []),
    st.text(max_size=300).map(lambda t: t.replace("\r", "\n")),
)
def test_a_note_comes_back_as_it_was_saved(tmp_path_factory: pytest.TempPathFactory, title: str, body: str):
    notes = Toolbox(note_tools(tmp_path_factory.mktemp("notes") / "new"))
    assert notes.call("save_note", {"title": title, "body": body}).startswith("saved")
    assert notes.call("read_notes", {"title": title}) == body
    assert notes.call("save_note", {"title": title, "body": "other"}).startswith("replaced")
    assert notes.call("read_notes", {"title": title}) == "other"


def test_titles_that_look_alike_are_two_notes(tmp_path: Path):
    notes = Toolbox(note_tools(tmp_path))
    for title in ("a/b", "a b", "../../escape"):
        notes.call("save_note", {"title": title, "body": title})
    assert notes.call("read_notes", {"title": "a/b"}) == "a/b"
    assert notes.call("read_notes", {}).startswith("3 notes:")
    assert {file.parent for file in tmp_path.rglob("*.md")} == {tmp_path}
    with pytest.raises(ToolError, match="the titles are: "):
        notes.call("read_notes", {"title": "c"})
