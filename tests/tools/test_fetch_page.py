"""Pages come from public addresses only, in limits of bytes and time, and as their main text."""

import functools
import gzip
import io
import ipaddress
import resource
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from carryforward.tools import Toolbox, ToolError
from carryforward.tools.addresses import checked_host, is_public
from carryforward.tools.fetch_page import fetch_page_tool, page_text
from carryforward.tools.web_client import Page, WebClient
from hypothesis import given
from hypothesis import strategies as st

PARAGRAPH = "The Fundy tide rises 16.3 m twice a day, more than anywhere else on the coast of the ocean. " * 4
MAIN = f"<main><h1>Tides</h1><p>{PARAGRAPH}</p></main>"
HTML = f"<html><head><title>T</title></head><body><nav>Menu Login</nav>{MAIN}</body></html>"


def _pdf(text: str) -> bytes:
    """A PDF of one page."""
    content = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        f"<</Length {len(content)}>>stream\n{content}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    body, places = "%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{one}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 6\n0000000000 65535 f \n{table}trailer<</Size 6/Root 1 0 R>>\nstartxref\n{len(body)}\n%%EOF\n"
    return (body + end).encode()


@functools.cache
def _bomb() -> bytes:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as file:
        for _ in range(200):
            file.write(bytes(2**20))
    return packed.getvalue()


class _Handler(BaseHTTPRequestHandler):
    asked: list[str]

    def do_GET(self) -> None:
        self.server.asked.append(f"{self.headers['Host']}{self.path}")  # type: ignore[attr-defined]
        match self.path.strip("/"):
            case "page":
                self._send(HTML.encode(), "text/html; charset=utf-8")
            case "zipped":
                self._send(gzip.compress(HTML.encode()), "text/html", encoding="gzip")
            case "pdf":
                self._send(_pdf("Measured in 2020: 8848.86 m"), "application/pdf")
            case "badpdf":
                self._send(b"%PDF-1.4 nothing", "application/pdf")
            case "json":
                self._send('{"高": 1}'.encode("gb18030"), "application/json; charset=gb18030")
            case "long":
                self._send(b"word " * 4000, "text/plain")
            case "image":
                self._send(b"\x89PNG\0", "image/png")
            case "bomb":
                self._send(_bomb(), "text/plain", encoding="gzip")
            case "broken":
                self._send(b"not gzip", "text/plain", encoding="gzip")
            case "brotli":
                self._send(b"x", "text/plain", encoding="br")
            case "loop":
                self._redirect("/loop")
            case "to-page":
                self._redirect("page")
            case "to-private":
                self._redirect("http://10.0.0.1/")
            case "to-file":
                self._redirect("file:///etc/passwd")
            case "big":
                self._stream(b"a" * 65_536, pause=0)
            case "slow":
                self._stream(b"a", pause=0.2)
            case _:
                self.send_error(404)

    def _send(self, body: bytes, kind: str, encoding: str = "") -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        if encoding:
            self.send_header("Content-Encoding", encoding)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _redirect(self, where: str) -> None:
        self.send_response(302)
        self.send_header("Location", where)
        self.end_headers()

    def _stream(self, piece: bytes, pause: float) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        try:
            for _ in range(100_000):
                self.wfile.write(piece)
                time.sleep(pause)
        except OSError:
            return

    def log_message(self, *_: object) -> None: ...


class Web:
    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.port = server.server_address[1]
        self.asked: list[str] = server.asked  # type: ignore[attr-defined]
        self.box = self._box(seconds=30)
        self.hasty = self._box(seconds=1)

    def _box(self, seconds: float) -> Toolbox:
        client = WebClient(allow=["site.test"], seconds=seconds, max_bytes=300_000, resolver=self._resolve)
        return Toolbox([fetch_page_tool(client)])

    async def _resolve(self, host: str, port: int) -> list[str]:
        names = {"site.test": "127.0.0.1", "evil.test": "127.0.0.1", "mixed.test": "1.1.1.1,127.0.0.1"}
        if host in names:
            return names[host].split(",")
        return [str(ipaddress.ip_address(host))]

    def get(self, path: str, **more: int) -> str:
        return self.box.call("fetch_page", {"url": f"http://site.test:{self.port}/{path}", **more})


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.asked = []  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Web(server)
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("path", ["page", "zipped", "to-page"])
def test_brings_the_main_text(web: Web, path: str):
    text = web.get(path)
    assert "16.3 m" in text
    assert "Menu Login" not in text
    assert text.startswith("http://site.test")


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        (b"<p>a fragment of 16.3 m</p>", None),
        (
            '<?xml version="1.0" encoding="gb2312"?><html><body><p>潮差 16.3 m</p></body></html>'.encode("gb2312"),
            "gb2312",
        ),
        (b"<html><body>" + b"<p>16.3 m</p>" * 40_000, "no-such-charset"),
        *((b"<html><body><p>16.3 m and more words</p>", charset) for charset in ("idna", "hex", "a\0")),
        ("<html><head><meta charset=gbk></head><body><p>潮差 16.3 m</p></body></html>".encode("gbk"), None),
    ],
)
def test_reads_odd_html(body: bytes, charset: str | None):
    assert "16.3 m" in page_text(Page("http://x.test/", "text/html", charset, body, cut=False))


@given(
    st.lists(
        st.sampled_from(["<p>", "</p>", "<table>", "<tr><td>", "<b", "<!--", "&#0;", "</", "潮", "text ", "<html>"])
    )
)
def test_any_html_gives_text_or_one_line(pieces: list[str]):
    try:
        page_text(Page("http://x.test/", "text/html", None, "".join(pieces).encode(), cut=False))
    except ToolError as error:
        assert "\n" not in str(error)


def test_brings_pdf_and_plain_text(web: Web):
    assert "Measured in 2020: 8848.86 m" in web.get("pdf")
    assert '{"高": 1}' in web.get("json")


def test_long_text_comes_in_pages_and_is_fetched_once(web: Web):
    assert "page 1 of 4; fetch_page(" in web.get("long")
    before = len(web.asked)
    assert "page 4 of 4, the last" in web.get("long", page=4)
    assert len(web.asked) == before


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("missing", "status 404"),
        ("image", "not a text"),
        ("badpdf", "cannot be read"),
        ("broken", "compression is broken"),
        ("brotli", "not asked for"),
        ("loop", "redirects more than 5"),
        ("to-private", r"10\.0\.0\.1 is not a public address"),
        ("to-file", "only addresses that begin with http"),
    ],
)
def test_what_cannot_be_read_is_one_line(web: Web, path: str, said: str):
    with pytest.raises(ToolError, match=said) as refused:
        web.get(path)
    assert "\n" not in str(refused.value)


def test_a_page_that_drips_is_given_up(web: Web):
    with pytest.raises(ToolError, match="did not arrive within 1 s"):
        web.hasty.call("fetch_page", {"url": f"http://site.test:{web.port}/slow"})


def test_endless_and_compressed_bodies_are_cut(web: Web):
    _ = _bomb()
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "cut: the page is longer than 300,000 bytes" in web.get("big", page=1) + web.get("big", page=51)
    assert "page 1 of" in web.get("bomb") or "cut" in web.get("bomb")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used < 64 * 1024


@pytest.mark.parametrize(
    "url",
    [
        "http://2130706433/",
        "http://127.1/",
        "http://0x7f.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:169.254.169.254]/latest",
        "http://[::7f00:1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://localhost./",
        "http://0.0.0.0/",
        "http://[fd00::1]/",
        "http://[fec0::1]/",
        "http://[5f00::1]/",
        "http://[::ffff:0:127.0.0.1]/",
        "http://100.64.0.1/",
        "http://127。0。0。1/",
        "http://①②⑦.0.0.1/",
        "file:///etc/passwd",
        "ftp://ok.example/x",
        "data:text/html,hi",
        "gopher://ok.example/",
        "http://user:pw@ok.example/",
        "//ok.example",
        "HTTP://ok.example\\@127.0.0.1/",
        "http://ok.example:99999/",
        "http:///x",
        "",
    ],
)
def test_private_addresses_and_other_schemes_are_refused(web: Web, url: str):
    before = len(web.asked)
    with pytest.raises(ToolError) as refused:
        web.box.call("fetch_page", {"url": url})
    assert "\n" not in str(refused.value)
    assert len(web.asked) == before


@pytest.mark.parametrize("host", ["evil.test", "mixed.test"])
def test_a_name_that_leads_to_a_private_address_is_refused(web: Web, host: str):
    before = len(web.asked)
    with pytest.raises(ToolError, match=f"{host} is not a public address"):
        web.box.call("fetch_page", {"url": f"http://{host}:{web.port}/page"})
    assert len(web.asked) == before


def test_a_name_is_resolved_once_so_that_rebinding_leads_nowhere():
    answers: list[str] = []

    async def rebinding(host: str, port: int) -> list[str]:
        answers.append("192.0.2.1" if answers else "127.0.0.1")
        return [answers[-1]]

    box = Toolbox([fetch_page_tool(WebClient(resolver=rebinding))])
    with pytest.raises(ToolError, match="not a public address"):
        box.call("fetch_page", {"url": "http://rebinding.test/"})
    assert answers == ["127.0.0.1"]


@given(st.ip_addresses())
def test_only_global_addresses_are_public(ip: ipaddress.IPv4Address | ipaddress.IPv6Address):
    assert not (is_public(str(ip)) and not ip.is_global)
    if ip.version == 4:
        assert is_public(str(ip)) == is_public(f"::ffff:{ip}")


@given(st.text() | st.text("htp:/@.[]0x127%\\ #?-", max_size=30).map("http://".__add__))
def test_any_text_is_a_host_or_one_line(url: str):
    try:
        host = checked_host(url)
    except ToolError as error:
        assert "\n" not in str(error)
    else:
        assert host
        assert "@" not in host
