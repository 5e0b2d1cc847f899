"""Long texts in pages that end where a paragraph, a line or a sentence ends."""

from .definition import ToolError

_BREAKS = ("\n\n", "\n", "。", ". ", " ")


def read_page(text: str, page: int, size: int, more: str) -> str:
    """The page (from 1 on) of at most `size` characters, with a last line that says how to go on.

    `more` names the call for the next page, with {page} for its number. Raises ToolError for a page that
    does not exist.
    """
    pages = _split(text, size)
    if not 1 <= page <= len(pages):
        raise ToolError(f"there is no page {page}; the pages go from 1 to {len(pages)}")
    if len(pages) == 1:
        return pages[0]
    rest = f"; {more.format(page=page + 1)} brings the next" if page < len(pages) else ", the last"
    return f"{pages[page - 1]}\n\n(page {page} of {len(pages)}{rest})"


def _split(text: str, size: int) -> list[str]:
    pages: list[str] = []
    rest = text.strip()
    while len(rest) > size:
        cut = _cut(rest, size)
        pages.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    return [*pages, rest] if rest or not pages else pages


def _cut(text: str, size: int) -> int:
    for mark in _BREAKS:
        at = text.rfind(mark, size // 2, size)
        if at >= 0:
            return at + len(mark)
    return size
