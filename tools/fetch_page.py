"""`fetch_page`: the main text of a web page or a PDF, in pages."""

import io
from collections import OrderedDict
from typing import Any

from .definition import Tool, ToolError
from .extras import need
from .paging import read_page
from .waiting import in_thread
from .web_client import Page, WebClient

_PAGE = 6_000
_KEPT_TEXTS = 16
_MAX_HTML = 2_000_000
_MAX_TAGS = 30_000  # finding the main text takes about 0.2 ms an element; beyond this the whole text is taken
_MAX_PDF_PAGES = 200
_TEXT_TYPES = ("text/", "application/json", "application/xml", "application/xhtml+xml", "application/ld+json")


def fetch_page_tool(client: WebClient | None = None) -> Tool:
    """The tool; a `WebClient` of your own says other limits, or which private hosts may be asked.

    Needs the extra `web` (trafilatura, pypdf).
    """
    web = client or WebClient()
    texts: OrderedDict[str, str] = OrderedDict()

    async def fetch_page(url: str, page: int = 1) -> str:
        if url not in texts or page == 1:
            found = await web.get(url.strip())
            texts[url] = await in_thread(lambda: page_text(found))
            texts.move_to_end(url)
            while len(texts) > _KEPT_TEXTS:
                texts.popitem(last=False)
        return read_page(texts[url], page, _PAGE, f'fetch_page("{url}", page={{page}})')

    return Tool(
        "fetch_page",
        "Use it to read a page of the web or a PDF whose address you know, such as one that web_search found. Takes "
        "the address and, for a long text, the page. Returns the main text without menus. Not for files of this "
        "machine or private networks, and not for searching.",
        {
            "type": "object",
            "properties": {
                "url": {"type": "string", "description": "The address, beginning with http:// or https://."},
                "page": {"type": "integer", "minimum": 1, "description": "The page, from 1 on; 1 if left out."},
            },
            "required": ["url"],
        },
        fetch_page,
        timeout=45.0,
        categories=("web",),
    )


def page_text(page: Page) -> str:
    """The main text. Raises ToolError when it holds none or is of another type."""
    if page.type == "application/pdf" or page.body.startswith(b"%PDF-"):
        text = _pdf_text(page)
    elif page.type in ("text/html", "application/xhtml+xml") or (not page.type and b"<" in page.body[:200]):
        text = _html_text(page)
    elif page.type.startswith(_TEXT_TYPES) or (not page.type and b"\0" not in page.body[:1000]):
        text = _decode(page)
    else:
        raise ToolError(f"{page.url[:200]} is of type {page.type[:60]!r}, which is not a text; try another page")
    if not text.strip():
        raise ToolError(f"{page.url[:200]} holds no text; it may need a browser, so try another page")
    notice = f"\n\n(cut: the page is longer than {len(page.body):,} bytes)" if page.cut else ""
    return f"{page.url}\n\n{text.strip()}{notice}"


def _decode(page: Page) -> str:
    try:
        return page.body.decode(page.charset or "utf-8-sig", "replace")
    except (LookupError, ValueError):  # the server names a charset that does not exist or cannot skip faults
        return page.body.decode("utf-8", "replace")


def _html_text(page: Page) -> str:
    trafilatura = need("trafilatura", "web")
    html: Any = page.body[:_MAX_HTML] if page.charset is None else _decode(page)[:_MAX_HTML]
    if b"<html" not in page.body[:5_000].lower():  # a fragment, which the library would not take for a page
        html = f"<html><body>{_decode(page)[:_MAX_HTML]}</body></html>"
    if page.body.count(b"<") > _MAX_TAGS:
        return trafilatura.html2txt(html)
    settings: dict[str, Any] = {"output_format": "markdown", "include_tables": True, "favor_recall": True}
    return trafilatura.extract(html, url=page.url, **settings) or trafilatura.html2txt(html)


def _pdf_text(page: Page) -> str:
    pypdf, errors = need("pypdf", "web"), need("pypdf.errors", "web")
    if page.cut:
        raise ToolError(f"{page.url[:200]} is a PDF of more than {len(page.body):,} bytes; try a shorter one")
    try:
        sheets = pypdf.PdfReader(io.BytesIO(page.body)).pages
        texts = [sheet.extract_text() for sheet in list(sheets)[:_MAX_PDF_PAGES]]
    except (errors.PyPdfError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ToolError(f"{page.url[:200]} is a PDF that cannot be read: {error}") from None
    return "\n\n".join(texts)
