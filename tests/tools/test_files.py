"""Files are read inside the allowed folders, and nowhere else, however the path is written."""

import os
from pathlib import Path

import pytest
from carryforward.tools import Toolbox, ToolError
from carryforward.tools.files import AllowedFolders, file_tools
from hypothesis import given, settings
from hypothesis import strategies as st

SECRET = "the secret of the neighbour"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    world = tmp_path_factory.mktemp("world")
    root = world / "agent"
    (root / "sub" / ".git").mkdir(parents=True)
    (world / "agent-victim").mkdir()
    (world / "agent-victim" / "s.txt").write_text(SECRET)
    (root / "a.txt").write_text("mine\nLine Two\n")
    (root / "sub" / "b.md").write_text("line two again\n" * 3)
    (root / "sub" / ".git" / "config").write_text("line two hidden")
    (root / "data.bin").write_bytes(b"\0\1" * 50)
    (root / "long.txt").write_text("word " * 4_000)
    (root / "link-out").symlink_to(world / "agent-victim" / "s.txt")
    (root / "folder-out").symlink_to(world / "agent-victim")
    (root / "link-in").symlink_to(root / "a.txt")
    (root / "loop").symlink_to(root / "loop")
    os.mkfifo(root / "pipe")
    return world


@pytest.fixture(scope="module")
def box(world: Path) -> Toolbox:
    return Toolbox(file_tools([world / "agent"]))


def test_reads_what_is_inside(world: Path, box: Toolbox):
    for path in ("a.txt", "./sub/../a.txt", "link-in", str(world / "agent" / "a.txt")):
        assert box.call("read_file", {"path": path}).startswith("mine")
    assert box.call("read_file", {"path": "data.bin"}) == "(100 bytes of binary data, not a text)"
    assert box.call("read_file", {"path": "long.txt", "page": 3}).endswith("(page 3 of 3, the last)")


@pytest.mark.parametrize(
    "path",
    [
        "../agent-victim/s.txt",
        "{world}/agent-victim/s.txt",
        "./x/../../agent-victim/s.txt",
        "link-out",
        "folder-out/s.txt",
        "/etc/passwd",
        "~/.ssh/id_rsa",
        "a\0.txt",
        "%2e%2e%2fetc%2fpasswd",
        "..\\..\\etc\\passwd",
        "",
        "loop",
        "pipe",
        "sub",
        "x" * 5000,
        "\udcff",
    ],
)
def test_refuses_what_is_outside_or_no_file(world: Path, box: Toolbox, path: str):
    with pytest.raises(ToolError) as refused:
        box.call("read_file", {"path": path.format(world=world) if "{" in path else path})
    assert SECRET not in str(refused.value)


pieces = st.sampled_from(
    ["..", ".", "a.txt", "sub", "agent-victim", "s.txt", "link-out", "folder-out", "", "~", "agent"]
)


@given(st.lists(pieces, max_size=8).map("/".join) | st.text(max_size=40))
@settings(max_examples=300)
def test_no_path_escapes(box: Toolbox, path: str):
    for name, arguments in (
        ("read_file", {"path": path}),
        ("list_files", {"path": path}),
        ("search_files", {"path": path, "text": "neighbour"}),
    ):
        try:
            answer = box.call(name, arguments)
        except ToolError as error:
            answer = str(error)
        assert SECRET not in answer
        assert "s.txt (" not in answer


def test_lists_without_hidden_files_and_links_out(box: Toolbox):
    listed = box.call("list_files", {})
    assert [line.split(" (")[0] for line in listed.splitlines()][:4] == ["a.txt", "data.bin", "long.txt", "pipe"]
    assert "link-" not in listed
    assert ".git" not in listed


def test_searches_lines(box: Toolbox):
    found = box.call("search_files", {"text": "LINE two"}).splitlines()
    assert found == ["a.txt:2: Line Two", *(f"sub/b.md:{n}: line two again" for n in (1, 2, 3))]
    assert "No line holds" in box.call("search_files", {"text": "hidden"})


def test_what_is_left_out_is_said(tmp_path: Path):
    for number in range(210):
        (tmp_path / f"{number:03}.txt").write_text("same")
    box = Toolbox(file_tools([tmp_path]))
    assert box.call("list_files", {}).splitlines()[-1].startswith("more left out")
    assert box.call("search_files", {"text": "same"}).splitlines()[-1].startswith("more left out")


def test_a_folder_that_is_not_there(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        file_tools([tmp_path / "nowhere"])


@pytest.mark.skipif(os.open not in os.supports_dir_fd, reason="this system cannot open a path folder by folder")
def test_a_folder_that_becomes_a_link_after_the_check_is_not_followed(tmp_path: Path):
    for name in ("agent/sub", "other"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "a.txt").write_text(SECRET if name == "other" else "mine")
    folders = AllowedFolders([tmp_path / "agent"])
    judged = folders.resolve("sub/a.txt")
    assert folders.read(judged) == b"mine"
    (tmp_path / "agent" / "sub").rename(tmp_path / "moved")
    (tmp_path / "agent" / "sub").symlink_to(tmp_path / "other")
    with pytest.raises(ToolError, match=r"sub/a\.txt cannot be opened"):
        folders.read(judged)
