"""Search over a folder of documents, and reading one: the packaged documents, or the user's own.

Ranking is Okapi BM25 (Robertson and Zaragoza, 2009) over words and, for Chinese and Japanese, pairs of characters.
"""

import difflib
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .definition import Tool, ToolError
from .paging import read_page
from .results import MAX_HITS, MAX_SNIPPET, Hit, write_hits

PACKAGED = Path(__file__).parent / "corpus"
_SUFFIXES = {".md", ".txt"}
_SATURATION, _LENGTH_WEIGHT = 1.2, 0.75  # k1 and b of BM25, the usual values
_TITLE_WEIGHT = 3
_TERM = re.compile(r"[a-z0-9]+(?:[.,][0-9]+)*|[^\W\d_]+")
_BLOCK_END = re.compile(r"\n\s*\n|\n(?=[|#-])")
_SENTENCE_END = re.compile(r"[.!?]\s+|[。！？]\s*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")


@dataclass(frozen=True)
class Document:
    """One file of the folder; its id is its path in it, without the suffix."""

    id: str
    title: str
    text: str

    @cached_property
    def terms(self) -> Counter[str]:
        return Counter([*terms(self.text), *list(terms(f"{self.title} {self.id}")) * _TITLE_WEIGHT])


def terms(text: str) -> Iterator[str]:
    """The words to search by: lower case, without a plural s; runs of CJK characters as overlapping pairs."""
    lower = text.lower()
    for run in _CJK.findall(lower):
        yield from (run[i : i + 2] for i in range(max(1, len(run) - 1)))
    for word in _TERM.findall(_CJK.sub(" ", lower)):
        yield word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


class Corpus:
    """The .md and .txt files of a folder and its sub-folders, read once.

    Raises FileNotFoundError when the folder does not exist or holds no such file.
    """

    def __init__(self, folder: Path | str | None = None) -> None:
        root = PACKAGED if folder is None else Path(folder).expanduser()
        if not root.is_dir():
            raise FileNotFoundError(f"the documents folder {root} does not exist; name one with .md or .txt files")
        files = sorted(file for file in root.rglob("*") if file.suffix.lower() in _SUFFIXES and file.is_file())
        if not files:
            raise FileNotFoundError(f"the documents folder {root} holds no .md or .txt file")
        self.documents = {(document := _read(file, root)).id: document for file in files}

    def search(self, query: str) -> list[Hit]:
        """The documents that match, best first."""
        wanted = set(terms(query))
        weights = {term: self._weight(term) for term in wanted}
        scored = [(self._score(document, weights), document) for document in self.documents.values()]
        found = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], pair[1].id))
        return [Hit(document.title, _snippet(document.text, weights), document.id) for _, document in found]

    def get(self, document: str) -> Document:
        """The document of an id or a title. Raises ToolError, which names near ones, when there is none."""
        wanted = document.strip().removesuffix(".md").removesuffix(".txt").casefold()
        by_name = {d.title.casefold(): d for d in self.documents.values()}
        by_name |= {d.id.casefold(): d for d in self.documents.values()}
        if wanted in by_name:
            return by_name[wanted]
        near = [by_name[name].id for name in difflib.get_close_matches(wanted[:100], by_name, n=3, cutoff=0.5)]
        hint = f"the nearest are {', '.join(dict.fromkeys(near))}" if near else "search shows the ids"
        raise ToolError(f"there is no document {document[:80]!r}; {hint}")

    def _weight(self, term: str) -> float:
        holders = self._holders[term]
        return math.log(1 + (len(self.documents) - holders + 0.5) / (holders + 0.5))

    def _score(self, document: Document, weights: dict[str, float]) -> float:
        length = document.terms.total() / self._mean_length
        damping = _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * length)
        counts = ((document.terms[term], weight) for term, weight in weights.items())
        return sum(weight * n * (_SATURATION + 1) / (n + damping) for n, weight in counts if n)

    @cached_property
    def _holders(self) -> Counter[str]:
        return Counter(term for document in self.documents.values() for term in document.terms)

    @cached_property
    def _mean_length(self) -> float:
        return sum(document.terms.total() for document in self.documents.values()) / len(self.documents) or 1.0


def _read(file: Path, root: Path) -> Document:
    text = file.read_text(encoding="utf-8-sig", errors="replace")
    document_id = file.relative_to(root).with_suffix("").as_posix()
    heading = re.search(r"^#\s+(.+)$", text, re.MULTILINE)
    return Document(document_id, heading[1].strip() if heading else document_id, text)


def _snippet(text: str, weights: dict[str, float]) -> str:
    """The stretch of text, from the start of a sentence or a table row, with the weightiest of the words asked for."""
    stretches = [
        " ".join(block[start : start + MAX_SNIPPET].split())
        for block in _BLOCK_END.split(text)
        if not block.startswith("#")
        for start in [0, *(end.end() for end in _SENTENCE_END.finditer(block))]
    ]
    return max(stretches, key=lambda stretch: sum(weights.get(term, 0) for term in set(terms(stretch))), default="")


def corpus_tools(folder: Path | str | None = None, *, page_size: int = 4_000) -> list[Tool]:
    """`search` and `fetch` over a folder of documents; without one, over the packaged documents.

    `page_size` is the number of characters that one `fetch` brings. Raises FileNotFoundError as `Corpus` does.
    """
    corpus = Corpus(folder)

    def search(query: str) -> str:
        hits = corpus.search(query)
        return write_hits(query, hits, len(hits), "fetch, which takes the id in brackets")

    def fetch(document: str, page: int = 1) -> str:
        found = corpus.get(document)
        return read_page(found.text, page, page_size, f'fetch("{found.id}", page={{page}})')

    return [
        Tool(
            "search",
            "Use it to find which documents speak of something. Takes a few key words, English or Chinese. Returns "
            f"at most {MAX_HITS} documents: title, id in brackets, and {MAX_SNIPPET} characters where the words stand. "
            "Not for reading a document: fetch does that.",
            {
                "type": "object",
                "properties": {"query": {"type": "string", "description": "A few key words."}},
                "required": ["query"],
            },
            search,
            categories=("documents",),
        ),
        Tool(
            "fetch",
            "Use it to read a document that search found. Takes the document's id and, for a long one, the page. "
            "Returns its text and says how many pages there are. Not for web addresses.",
            {
                "type": "object",
                "properties": {
                    "document": {"type": "string", "description": "The id that search gave in brackets."},
                    "page": {"type": "integer", "minimum": 1, "description": "The page, from 1 on; 1 if left out."},
                },
                "required": ["document"],
            },
            fetch,
            categories=("documents",),
        ),
    ]
