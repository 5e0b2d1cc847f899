"""`extract_facts`: from any text to its facts, by the shape of the text."""

from __future__ import annotations

from .fact import Fact
from .origin import Origin
from .plain import plain
from .scan import Scanner
from .table_reader import read_table
from .tables import find_tables


def extract_facts(text: str, *, source: str | None = None) -> list[Fact]:
    """All facts of `text`, in the order in which they stand there.

    Reads prose, JSON and tables, English and Chinese, by rules and in time that grows linearly with the
    text. Every span is end-exclusive and `text[span]` is exactly what was read. An identifier, path or
    name is given once, where it stands first; figures, dates and times each time. A JSON key without digits
    is a name. Never raises for any text.
    """
    normal = plain(text)
    origin = Origin(text)
    scanner = Scanner(text, normal, source, origin)
    pos = 0
    for table in find_tables(normal):
        scanner.run(pos, table.start)
        read_table(scanner, table)
        scanner.origin = origin
        pos = table.end
    scanner.run(pos, len(text))
    return scanner.facts
