"""Tables: Markdown, SQL clients, CSV and TSV, fixed width, simple HTML. Finds rows, cells and headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

Cell = tuple[int, int]

_RULE = re.compile(r"[ \t]*+[|+]?[ \t:]*+[-=]{2,}+[ \t:|+=-]*+$")
_PIPE_RULE = re.compile(  # a literal beginning lets the search skip at full speed
    r"(?m)\n([ \t]*+(?:[|+]?[ \t:]*+[-=]{2,}+[ \t:]*+[|+][ \t:|+=-]*+|\|[ \t:]*+-++[ \t:]*+\|?[ \t]*+))$"
)
_GAP = re.compile(r"  (?<=[^\s|]  ) *(?=\S)")
_WIDE = re.compile(r" {2,}|\t")
_ROW_TAG = re.compile(r"<tr\b[^>]{0,200}>", re.IGNORECASE)
_CELL_TAG = re.compile(r"<t([dh])\b[^>]{0,200}>", re.IGNORECASE)
_FENCES = (re.compile(r"```[a-z]*\n"), re.compile(r"<output>\n"))
_NUMERIC = re.compile(r"[-+$€£¥(]*\.?\d[\d.,' ]*[%)kKMB]?$")
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"\d[\d.,]*")
_LETTERS = re.compile(r"[^\W\d_]+")
_YEAR = re.compile(r"(?:19|20)\d\d")
_COMPARED = 20  # rows that the first is compared with
MAX_COLUMNS = 60


@dataclass(slots=True)
class Table:
    """A table in a text: cells are spans. `head` holds the headings, `rows` the rest, `caption` the line above."""

    start: int
    end: int
    head: list[str]
    rows: list[list[Cell]] = field(default_factory=list[list[Cell]])
    caption: str = ""

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns), the heading row not counted."""
        return len(self.rows), len(self.head)


def _lines(text: str, start: int, end: int) -> Iterator[Cell]:
    while start < end:
        stop = text.find("\n", start, end)
        stop = end if stop < 0 else stop
        yield start, stop
        start = stop + 1


def _line_before(text: str, start: int) -> Cell:
    stop = start - 1
    return (text.rfind("\n", 0, stop) + 1, stop) if stop >= 0 else (0, 0)


def _trim(text: str, start: int, end: int) -> Cell:
    while start < end and text[start] in " \t\r":
        start += 1
    while end > start and text[end - 1] in " \t\r":
        end -= 1
    return start, end


def _split(text: str, start: int, end: int, mark: str) -> list[Cell]:
    cells: list[Cell] = []
    start, end = _trim(text, start, end)
    if mark == "|":
        start += text[start : start + 1] == "|"
        end -= end > start and text[end - 1] == "|"
    while start <= end and len(cells) < MAX_COLUMNS:
        stop = text.find(mark, start, end)
        stop = end if stop < 0 else stop
        cells.append(_trim(text, start, stop))
        start = stop + len(mark)
    return cells


def _split_quoted(text: str, start: int, end: int) -> list[Cell]:
    """Comma-separated cells; commas inside double quotes do not count."""
    if text.find('"', start, end) < 0:
        return _split(text, start, end, ",")
    cells: list[Cell] = []
    quoted, begin = False, start
    for i in range(start, min(end, start + 20000)):
        char = text[i]
        if char == '"':
            quoted = not quoted
        elif char == "," and not quoted:
            cells.append(_trim(text, begin, i))
            begin = i + 1
    cells.append(_trim(text, begin, end))
    return cells


def _split_tabs(text: str, start: int, end: int) -> list[Cell]:
    return _split(text, start, end, "\t")


def _split_wide(text: str, start: int, end: int) -> list[Cell]:
    start, end = _trim(text, start, end)
    cells: list[Cell] = []
    for gap in _WIDE.finditer(text, start, end):
        if gap.start() > start:
            cells.append(_trim(text, start, gap.start()))
        start = gap.end()
    cells.append((start, end))
    return cells


def find_tables(text: str) -> list[Table]:
    """The tables of a text in order, without overlap. Ragged rows keep the cells they have."""
    found: list[Table] = []
    if "|" in text:
        found.extend(_pipe_tables(text))
    if "<td" in text or "<TD" in text:
        found.extend(_html_tables(text))
    if "," in text or "\t" in text:
        found.extend(_separated(text))
    if "  " in text:
        found.extend(_fixed_width(text))
    found.sort(key=lambda t: t.start)
    out: list[Table] = []
    for table in found:
        if not out or table.start >= out[-1].end:
            out.append(table)
    return out


def _words(text: str, cells: list[Cell]) -> list[str]:
    return [text[a:b].strip("\"'*` ") for a, b in cells]


def _table(text: str, end: int, first: list[Cell], rows: list[list[Cell]], caption: str = "") -> Table:
    """A table whose first row gives the headings, unless it is like the rows below it."""
    if _is_one_of(text, first, rows):
        return Table(first[0][0], end, [""] * len(first), [first, *rows], caption)
    return Table(first[0][0], end, _words(text, first), rows, caption)


def _is_one_of(text: str, first: list[Cell], rows: list[list[Cell]]) -> bool:
    """Whether a cell with digits has the shape of most of those below it, as `ORD-1` above `ORD-2`; years may head."""
    for i, (start, end) in enumerate(first):
        cell = text[start:end]
        if _DIGIT.search(cell) and not _YEAR.fullmatch(cell):
            below = [_shape(text[slice(*row[i])]) for row in rows[:_COMPARED] if i < len(row)]
            if 2 * below.count(_shape(cell)) > len(below):
                return True
    return False


def _shape(cell: str) -> str:
    return _LETTERS.sub("a", _DIGITS.sub("0", cell))


def _pipe_tables(text: str) -> Iterator[Table]:
    """Markdown and SQL clients: a rule line below the headings, cells between pipes."""
    done = 0
    for rule in _PIPE_RULE.finditer("\n" + text):
        begin, end = rule.start(), rule.end() - 1  # in the text itself, which has no line break before it
        if begin < done:
            continue
        start, stop = _line_before(text, begin)
        headed = "|" in text[start:stop] and not _RULE.match(text, start, stop)
        if not headed and not rule[1].lstrip().startswith("+"):
            continue
        rows, done = _pipe_rows(text, end + 1)
        if headed:
            first = _split(text, start, stop, "|")
        elif rows and _has_rule_below(text, rows[0]):
            start, first, rows = begin, rows[0], rows[1:]
        else:
            start, first = begin, []
        if not rows:
            continue
        done = rows[-1][-1][1] + 1
        above = _line_before(text, start)
        headings = _words(text, first) or [""] * len(rows[0])
        yield Table(start, done, headings, rows, text[above[0] : above[1]].strip())


def _has_rule_below(text: str, row: list[Cell]) -> bool:
    below = _line_end(text, row[-1][1]) + 1
    return _RULE.match(text, below, _line_end(text, below)) is not None


def _pipe_rows(text: str, start: int) -> tuple[list[list[Cell]], int]:
    """The rows below a rule line, further rule lines left out, and where the lines with pipes end."""
    rows: list[list[Cell]] = []
    for a, b in _lines(text, start, len(text)):
        if not _RULE.match(text, a, b):
            if "|" not in text[a:b]:
                return rows, a
            rows.append(_split(text, a, b, "|"))
    return rows, len(text)


def _separated(text: str) -> Iterator[Table]:
    """CSV and TSV that begin the text, a fenced block or an output."""
    end = 0
    for start in sorted((0, *(opening.end() for fence in _FENCES for opening in fence.finditer(text)))):
        if start < end:
            continue
        head_end = text.find("\n", start, start + 2001)
        if head_end < 0:
            continue
        head = text[start:head_end]
        mark = "\t" if head.count("\t") >= 1 else ","
        width = head.count(mark)
        if width < 1 or width > MAX_COLUMNS or (mark == "," and (width < 2 and " " in head)):
            continue
        split = _split_quoted if mark == "," else _split_tabs
        first = split(text, start, head_end)
        headings = _words(text, first)
        if any(not h or _NUMERIC.match(h) or len(h) > 40 for h in headings):
            continue
        rows: list[list[Cell]] = []
        end = head_end
        for a, b in _lines(text, head_end + 1, len(text)):
            cells = split(text, a, b) if b - a < 5000 else []
            if len(cells) < 2 or abs(len(cells) - len(headings)) > 1:
                break
            rows.append(cells)
            end = b
        if mark == "," and ", " in head and _is_one_of(text, first, rows):
            continue  # lines of prose
        if len(rows) >= 2 or (len(rows) == 1 and len(headings) > 2 and len(rows[0]) == len(headings)):
            yield _table(text, end, first, rows)


def _fixed_width(text: str) -> Iterator[Table]:
    """Columns kept apart by two spaces or more, under a line of headings; a rule line may follow it."""
    block: list[Cell] = []
    pos = 0
    while True:
        gap = _GAP.search(text, pos)
        line = (text.rfind("\n", 0, gap.start()) + 1, _line_end(text, gap.start())) if gap else None
        if block and (line is None or not _adjacent(text, block[-1][1], line[0])):
            table = _fixed_table(text, block)
            if table:
                yield table
            block = []
        if line is None:
            return
        block.append(line)
        pos = line[1]


def _line_end(text: str, pos: int) -> int:
    stop = text.find("\n", pos)
    return len(text) if stop < 0 else stop


def _adjacent(text: str, end: int, start: int) -> bool:
    """Whether the next row follows at once or after a rule line."""
    between = text[end + 1 : start].strip("\n") if start - end < 400 else "x"
    return start == end + 1 or (bool(between) and _RULE.match(between) is not None)


def _fixed_table(text: str, block: list[Cell]) -> Table | None:
    if len(block) < 3:
        return None
    first = _split_wide(text, *block[0])
    headings = _words(text, first)
    width = len(headings)
    if width < 2 or any(_NUMERIC.match(h) or len(h) > 30 for h in headings):
        return None
    rows = (_split_wide(text, a, b) for a, b in block[1:])
    body = [r for r in rows if not _RULE.match(text, r[0][0], r[-1][1])]
    same = sum(1 for r in body if len(r) in (width, width + 1))
    numeric = sum(1 for r in body if any(_NUMERIC.match(text[a:b]) for a, b in r))
    if not body or same < 0.8 * len(body) or numeric < 0.5 * len(body):
        return None
    above = _line_before(text, block[0][0])
    table = _table(text, block[-1][1], first, body, text[above[0] : above[1]].strip())
    if sum(1 for r in body if len(r) == width + 1) > len(body) / 2:
        table.head.insert(0, "")  # a column of row names without a heading
    return table


def _html_tables(text: str) -> Iterator[Table]:
    """Rows of <td> and <th> cells without nested tables."""
    starts = [m.start() for m in _ROW_TAG.finditer(text)]
    rows: list[list[Cell]] = []
    headed = False
    for i, start in enumerate(starts):
        stop = starts[i + 1] if i + 1 < len(starts) else min(len(text), start + 20000)
        cells: list[Cell] = []
        for tag in _CELL_TAG.finditer(text, start, stop):
            close = text.find("<", tag.end(), stop)
            cells.append(_trim(text, tag.end(), stop if close < 0 else close))
            headed = headed or (not rows and tag[1] in "hH" and len(cells) > 1)
        if cells:
            rows.append(cells)
    if len(rows) > 1:
        end, first, below = rows[-1][-1][1], rows[0], rows[1:]
        yield Table(first[0][0], end, _words(text, first), below) if headed else _table(text, end, first, below)
