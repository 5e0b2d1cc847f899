"""Each format is read into the same plain chat list; anything else gives an error with file and line."""

import gzip
import json
import re
import tracemalloc

import pytest
from carryforward.memory import Journal
from carryforward.memory.lab import Transcript, TranscriptError, load_transcripts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TOOL_CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
CHAT = [
    {"role": "system", "content": "Rules."},
    {"role": "user", "content": "Add."},
    {"role": "assistant", "content": "I add.", "tool_calls": [TOOL_CALL], "reasoning_content": "hm"},
    {"role": "tool", "tool_call_id": "c1", "content": "2"},
    {"role": "assistant", "content": "It is 2."},
]
PLAIN = ["system: Rules.", "user: Add.", 'assistant: I add. add({"a": 1}) c1', "tool: 2 c1", "assistant: It is 2."]

LANGCHAIN = [
    {"type": "system", "content": "Rules."},
    {"type": "human", "content": "Add."},
    {
        "type": "ai",
        "content": [{"type": "text", "text": "I add."}],
        "tool_calls": [{"name": "add", "args": {"a": 1}, "id": "c1", "type": "tool_call"}],
        "usage_metadata": {"input_tokens": 90, "output_tokens": 5, "input_token_details": {"cache_read": 64}},
    },
    {"type": "tool", "content": "2", "tool_call_id": "c1"},
    {"type": "ai", "content": "It is 2."},
]
KINDS = {"system": "SystemMessage", "human": "HumanMessage", "ai": "AIMessageChunk", "tool": "ToolMessage"}
ANTHROPIC = {
    "model": "claude",
    "system": [{"type": "text", "text": "Rules."}],
    "messages": [
        {"role": "user", "content": "Add."},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "I add."},
                {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "2"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "It is 2."}]},
    ],
}
OPENHANDS = [
    {"id": 0, "source": "agent", "action": "system", "args": {"content": "Rules."}},
    {"id": 1, "source": "user", "action": "message", "args": {"content": "Add."}},
    {"id": 2, "source": "user", "action": "recall", "args": {"query": "Add."}},
    {"id": 3, "source": "agent", "observation": "recall", "cause": 2, "content": "no microagents"},
    {
        "id": 4,
        "source": "agent",
        "action": "call_tool",
        "args": {"a": 1, "thought": "I add."},
        "tool_call_metadata": {"tool_call_id": "c1", "function_name": "add"},
    },
    {"id": 5, "source": "agent", "observation": "call_tool", "cause": 4, "content": "2", "extras": {}},
    {"id": 6, "source": "environment", "observation": "agent_state_changed", "content": ""},
    {"id": 7, "source": "agent", "action": "finish", "args": {"final_thought": "It is 2."}},
]
OPENHANDS_KINDS = [
    {"kind": "SystemPromptEvent", "source": "agent", "system_prompt": {"type": "text", "text": "Rules."}},
    {"kind": "MessageEvent", "source": "user", "llm_message": {"role": "user", "content": [{"text": "Add."}]}},
    {
        "kind": "ActionEvent",
        "source": "agent",
        "thought": [{"type": "text", "text": "I add."}],
        "tool_name": "add",
        "tool_call_id": "c1",
        "tool_call": {"id": "c1", "name": "add", "arguments": '{"a": 1}'},
        "action": {"a": 1},
    },
    {"kind": "ObservationEvent", "tool_call_id": "c1", "tool_name": "add", "observation": {"content": [{"text": "2"}]}},
    {
        "kind": "MessageEvent",
        "source": "agent",
        "llm_message": {"role": "assistant", "content": [{"text": "It is 2."}]},
    },
]
TAU2_MESSAGES = [
    {"role": "system", "content": "Rules."},
    {"role": "user", "content": "Add."},
    {
        "role": "assistant",
        "content": "I add.",
        "tool_calls": [{"id": "c1", "name": "add", "arguments": {"a": 1}, "requestor": "assistant"}],
        "usage": {"prompt_tokens": 90, "completion_tokens": 5},
    },
    {"role": "tool", "id": "c1", "content": "2", "requestor": "assistant"},
    {"role": "user", "content": None, "tool_calls": [{"id": "u1", "name": "look", "arguments": {}}]},
    {"role": "tool", "id": "u1", "content": "the user's own", "requestor": "user"},
    {"role": "assistant", "content": "It is 2."},
]
SWE_HISTORY = [
    {"role": "system", "content": "Rules.", "agent": "main", "message_type": "system_prompt"},
    {"role": "user", "content": "A demonstration.", "agent": "main", "is_demo": True},
    {"role": "user", "content": "Add.", "agent": "main", "message_type": "observation"},
    {"role": "assistant", "content": "I add.", "action": "add 1", "tool_calls": [TOOL_CALL], "agent": "main"},
    {"role": "tool", "content": [{"type": "text", "text": "2"}], "tool_call_ids": ["c1"], "agent": "main"},
    {"role": "assistant", "content": "It is 2.", "tool_calls": None, "agent": "main"},
]

RESPONSES = [
    {"role": "developer", "content": "Rules."},
    {"role": "user", "content": [{"type": "input_text", "text": "Add."}]},
    {"type": "reasoning", "id": "r1", "summary": []},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I add."}]},
    {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a": 1}'},
    {"type": "function_call_output", "call_id": "c1", "output": "2"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is 2."}]},
]
LANGCHAIN_FUNCTIONS = [
    *LANGCHAIN[:2],
    {
        "type": "ai",
        "content": "I add.",
        "additional_kwargs": {"function_call": {"name": "add", "arguments": '{"a": 1}'}},
        "tool_calls": [],
    },
    {"type": "function", "name": "add", "content": "2"},
    {"type": "chat", "role": "assistant", "content": "It is 2."},
]

DOCUMENTS = {
    "chat list": CHAT,
    "chat object": {"model": "m", "messages": CHAT},
    "legacy functions": [
        *CHAT[:2],
        {"role": "assistant", "content": "I add.", "function_call": {"name": "add", "arguments": '{"a": 1}'}},
        {"role": "function", "name": "add", "content": "2"},
        CHAT[4],
    ],
    "responses": [{"role": "system", "content": "Rules."}, *RESPONSES[1:]],
    "responses exchange": {"model": "m", "instructions": "Rules.", "input": RESPONSES[1:5], "output": RESPONSES[5:]},
    "responses words": {"instructions": "Rules.", "input": "Add.", "output": RESPONSES[2:]},
    "responses request": {"model": "m", "instructions": "Rules.", "input": RESPONSES[1:]},
    "mini-swe-agent responses": {
        "trajectory_format": "mini-swe-agent-1.1",
        "info": {"exit_status": "Submitted"},
        "messages": [
            *CHAT[:2],
            {"object": "response", "output": RESPONSES[2:5], "extra": {"cost": 0.1}},
            RESPONSES[5],
            {"object": "response", "output": RESPONSES[6:]},
            {"role": "exit", "content": "done"},
        ],
    },
    "mini-swe-agent": {
        "trajectory_format": "mini-swe-agent-1.1",
        "info": {"exit_status": "Submitted"},
        "messages": [*CHAT, {"role": "exit", "content": "done"}],
    },
    "swe-agent": {"environment": "swe_main", "trajectory": [], "history": SWE_HISTORY, "info": {}},
    "tau-bench": {"task_id": 3, "reward": 1.0, "info": {}, "traj": CHAT, "trial": 0},
    "tau2-bench": {"info": {}, "tasks": [], "simulations": [{"id": "s", "task_id": "3", "messages": TAU2_MESSAGES}]},
    "langchain fields": LANGCHAIN,
    "langchain dicts": [{"type": m["type"], "data": {k: v for k, v in m.items() if k != "type"}} for m in LANGCHAIN],
    "langchain dumpd": [
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", KINDS[m["type"]]],
            "kwargs": {k: v for k, v in m.items() if k != "type"},
        }
        for m in LANGCHAIN
    ],
    "langchain functions": LANGCHAIN_FUNCTIONS,
    "langgraph state": {"values": {"messages": LANGCHAIN}, "next": []},
    "langgraph checkpoint": {"v": 1, "channel_values": {"messages": LANGCHAIN}},
    "anthropic": ANTHROPIC,
    "openhands events": OPENHANDS,
    "openhands output": {"instance_id": "x", "history": OPENHANDS},
    "openhands kinds": OPENHANDS_KINDS,
    "openhands state first": [{"kind": "ConversationStateUpdateEvent", "source": "environment"}, *OPENHANDS_KINDS],
}
LEGACY_ID = {"legacy functions": "call_2", "langchain functions": "call_2"}


def plain(transcript):
    out = []
    for m in transcript.messages:
        calls = "".join(f" {c.name}({c.arguments}) {c.id}" for c in m.tool_calls)
        out.append(f"{m.role}: {m.text}{calls}" + (f" {m.tool_call_id}" if m.tool_call_id else ""))
    return out


def write(path, text, zipped=False):
    path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    return path


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("form", ["compact", "indented", "zipped"])
def test_a_document_of_each_format(name, form, tmp_path):
    text = json.dumps(DOCUMENTS[name], indent=2 if form == "indented" else None)
    [transcript] = load_transcripts(write(tmp_path / "run.json", text, form == "zipped"))
    assert plain(transcript) == [line.replace("c1", LEGACY_ID.get(name, "c1")) for line in PLAIN]
    assert all(not m.extra for m in transcript.messages)


@pytest.mark.parametrize("name", [n for n in DOCUMENTS if not isinstance(DOCUMENTS[n], list)])
@pytest.mark.parametrize("array", [False, True])
def test_many_runs_in_one_file(name, array, tmp_path):
    runs = [json.dumps(DOCUMENTS[name])] * 3
    text = f"[{', '.join(runs)}]" if array else "\n\n".join(runs) + "\n"
    found = load_transcripts(write(tmp_path / "runs.jsonl", text))
    assert [plain(t) for t in found] == [plain_of(name)] * 3


def plain_of(name):
    return [line.replace("c1", LEGACY_ID.get(name, "c1")) for line in PLAIN]


@pytest.mark.parametrize("name", [n for n in DOCUMENTS if isinstance(DOCUMENTS[n], list)])
def test_a_message_or_event_a_line_is_one_run(name, tmp_path):
    text = "\n".join(json.dumps(entry) for entry in DOCUMENTS[name])
    [transcript] = load_transcripts(write(tmp_path / "run.jsonl", text))
    assert plain(transcript) == plain_of(name)


def test_a_list_of_messages_a_line_is_a_run_each(tmp_path):
    path = write(tmp_path / "runs.jsonl", "\n".join([json.dumps(CHAT), json.dumps(LANGCHAIN), json.dumps(CHAT)]))
    assert [plain(t) for t in load_transcripts(path)] == [PLAIN] * 3


def test_swe_agent_without_history(tmp_path):
    turns = [
        {"query": [{"role": "system", "content": "Rules."}, {"role": "user", "content": "Add."}],
         "response": "add 1", "observation": "2", "action": "add 1"},
        {"query": [], "response": "submit", "observation": "", "action": "submit"},
    ]  # fmt: skip
    [transcript] = load_transcripts(write(tmp_path / "a.traj", json.dumps({"trajectory": turns, "info": {}})))
    assert plain(transcript) == [
        "system: Rules.",
        "user: Add.",
        "assistant: add 1",
        "user: 2",
        "assistant: submit",
        "user: ",
    ]


def parallel(generation):
    """Two calls of one response, the result of the first between them, as events of OpenHands."""
    if generation == 1:
        made = [{"tool_call_id": f"c{n}", "function_name": "add", "model_response": {"id": "r"}} for n in (1, 2)]
        for n, (metadata, thought) in enumerate(zip(made, ("I add.", ""), strict=True), 1):
            args = {"a": n, "thought": thought}
            yield {"id": n, "source": "agent", "action": "add", "args": args, "tool_call_metadata": metadata}
            yield {"source": "agent", "observation": "add", "cause": n, "content": f"{n}0"}
    else:
        for n in (1, 2):
            thought = [{"text": "I add."}] if n == 1 else []
            call = {"tool_call_id": f"c{n}", "tool_name": "add", "action": {"a": n}, "llm_response_id": "r"}
            yield {"kind": "ActionEvent", "source": "agent", "thought": thought, **call}
            yield {"kind": "ObservationEvent", "tool_call_id": f"c{n}", "observation": {"content": [{"text": f"{n}0"}]}}


@pytest.mark.parametrize("generation", [1, 2])
def test_calls_of_one_response_are_one_message(generation, tmp_path):
    [transcript] = load_transcripts(write(tmp_path / "a.json", json.dumps(list(parallel(generation)))))
    assert plain(transcript) == ['assistant: I add. add({"a": 1}) c1 add({"a": 2}) c2', "tool: 10 c1", "tool: 20 c2"]


def test_langchain_calls_with_arguments_that_are_no_json(tmp_path):
    broken = [{"name": "add", "args": "{a", "id": "c1", "error": "not JSON"}]
    messages = [{"type": "ai", "content": "", "invalid_tool_calls": broken}, LANGCHAIN[3]]
    [transcript] = load_transcripts(write(tmp_path / "a.json", json.dumps(messages)))
    assert plain(transcript) == ["assistant:  add({a) c1", "tool: 2 c1"]


def test_a_tau_bench_task_that_failed_to_run_is_an_empty_run(tmp_path):
    failed = {"task_id": 4, "reward": 0.0, "info": {"error": "timeout"}, "traj": [], "trial": 0}
    found = load_transcripts(write(tmp_path / "a.json", json.dumps([failed, DOCUMENTS["tau-bench"]])))
    assert [(t.id, len(t)) for t in found] == [("4/0", 0), ("3/0", len(CHAT))]


def test_a_log_with_colours(tmp_path):
    text = "\n\x1b[1m> Entering new AgentExecutor chain...\x1b[0m\nQuestion: How high?\n"
    text += "\x1b[32;1m\x1b[1;3mThought: I search.\nAction: Search\x1b[0m\nObservation: \x1b[36;1mA hill.\x1b[0m\n"
    text += "\x1b[1m> Finished chain.\x1b[0m\n"
    [transcript] = load_transcripts(write(tmp_path / "log.txt", text))
    assert plain(transcript) == [
        "user: Question: How high?",
        "assistant: Thought: I search.\nAction: Search",
        "user: A hill.",
    ]


def test_react_text(tmp_path):
    text = (
        "Answer with tools.\nQuestion: How high?\nThought 1: I search.\nAction 1: Search[hill]\n"
        "Observation 1: A hill.\n"
        "It is 12345 m high.\nThought 2: Known.\nFinal Answer: 12345 m\n\nQuestion: And now?\nThought: Nothing.\n"
    )
    first, second = load_transcripts(write(tmp_path / "log.txt", text))
    assert plain(first) == [
        "system: Answer with tools.",
        "user: Question: How high?",
        "assistant: Thought 1: I search.\nAction 1: Search[hill]",
        "user: A hill.\nIt is 12345 m high.",
        "assistant: Thought 2: Known.\nFinal Answer: 12345 m",
    ]
    assert plain(second) == ["user: Question: And now?", "assistant: Thought: Nothing."]


def test_a_journal(tmp_path):
    path = tmp_path / "runs.db"
    with Journal(path) as journal:
        for run in ("one", "two"):
            for number, message in enumerate(CHAT):
                journal.append(run, "message", {"ref": f"m{number}", "message": message})
            journal.append(run, "note", {"text": "not a message"})
    found = load_transcripts(path)
    assert [(t.id, plain(t)) for t in found] == [("one", PLAIN), ("two", PLAIN)]


def test_usage_is_read_where_a_file_has_it(tmp_path):
    ours = {"id": "u", "messages": CHAT, "usage": [{"msg": 4, "prompt": 90, "completion": 5, "cached": 64}]}
    for document in (ours, {"messages": LANGCHAIN}):
        [transcript] = load_transcripts(write(tmp_path / "u.json", json.dumps(document)))
        assert [(u.prompt, u.completion, u.cached) for u in transcript.usage] == [(90, 5, 64)]


def test_results_without_a_call_become_user_messages(tmp_path):
    messages = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "SELECT 1"},
        {"role": "tool", "content": "1"},
    ]
    [transcript] = load_transcripts(write(tmp_path / "a.json", json.dumps(messages)))
    assert [m.role for m in transcript.messages] == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", 1, "empty"),
        ("just words\nand more", 1, "not a transcript"),
        ('{"messages": [{"role": "user"}]}\n{"messages": [\n', 2, "not JSON"),
        ("[]", 1, "no message$"),
        ('{"messages": []}', 1, "no message$"),
        ('{"simulations": []}', 1, "no simulations"),
        ('{"values": {}, "next": []}', 1, "no message$"),
        ('{"messages": "hello"}', 1, "messages must be a list, got str"),
        ('{"messages": [{"text": "hello"}]}', 1, "message 0 has no role; the object has the keys text"),
        ('[{"role": "user"}, {"text": "hello"}]', 1, "message 1 .*unknown role None.*the object has the keys text"),
        ('[{"role": "human", "content": "a"}]', 1, "'human' is 'user' in a chat list"),
        ('[{"role": "System", "content": "a"}]', 1, "'System' is 'system' in a chat list"),
        ('[{"role": "ai", "content": "a"}]', 1, "'ai' is 'assistant' in a chat list"),
        ('{"object": "response", "output": [{"type": "message"}]}', 1, "a response without its `input`"),
        ("He said: Question: why?", 1, "must begin a line"),
        ('{"name": "x"}', 1, "Transcript.from_messages.*rglob"),
        ('{"role": "user", "content": "a"}\n17\n', 2, "is no run|no message"),
        ('{"name": "x", "version": 2}', 1, "keys name, version"),
        ('[{"messages": [{"role": "user"}]},\n\n {"messages": 12,}]', 3, "not JSON"),
        ('{"messages": [{"role": "wizard", "content": "a"}]}', 1, "wizard"),
        ('[{"role": "user", "content": "a"}', 1, "ends inside"),
        ("[" * 100_000, 1, "not JSON"),
        ("[" + "9" * 5000 + "]", 1, "not JSON that can be read"),
        ('[{"messages": [{"role": "user"}]}] and more', 1, "not JSON"),
    ],
)
def test_what_is_no_transcript_is_said_with_file_and_line(text, line, reason, tmp_path):
    path = write(tmp_path / "odd.json", text)
    with pytest.raises(TranscriptError, match=reason) as error:
        list(load_transcripts(path))
    assert str(error.value).startswith(f"{path}:{line}:")


@pytest.mark.parametrize("fault", ["nonsense", '{"a": 1}'])
def test_the_line_of_a_fault_among_runs_of_many_lines(fault, tmp_path):
    whole = json.dumps([{"messages": CHAT}] * 3, indent=1)
    path = write(tmp_path / "odd.json", f"{whole[:-2]},\n{fault}\n, {{}}]")
    with pytest.raises(TranscriptError) as error:
        list(load_transcripts(path))
    assert str(error.value).startswith(f"{path}:{whole.count(chr(10)) + 1}:")


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "odd.json"
    for data in (
        b'{"a": "\xff\xfe"}',
        gzip.compress(b"[]")[:-4],
        b"\x1f\x8b\x08broken",
        b"SQLite format 3\0" + b"x" * 90,
    ):
        path.write_bytes(data)
        with pytest.raises(TranscriptError, match=r"odd\.json"):
            list(load_transcripts(path))


def test_the_line_of_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "odd.jsonl"
    path.write_bytes(b'{"messages": [{"role": "user"}]}\n' * 3 + b'{"messages": ["\xff"]}\n')
    with pytest.raises(TranscriptError, match=r"odd\.jsonl:4: not UTF-8"):
        list(load_transcripts(path))


@pytest.mark.parametrize("depth", [50, 300, 600, 900, 5000])
def test_deep_nesting_is_read_or_refused(depth, tmp_path):
    nested = "[" * depth + "]" * depth
    survives(tmp_path / "deep.json", f'{{"messages": [{{"role": "user", "content": {nested}}}]}}'.encode())
    survives(tmp_path / "deep.json", f'[{{"kind": "ActionEvent", "action": {nested}}}]'.encode())


def test_journals_that_hold_nothing_to_read(tmp_path):
    path = tmp_path / "runs.db"
    Journal(path).close()
    with pytest.raises(TranscriptError, match=r"runs\.db: the journal holds no run"):
        load_transcripts(path)
    path.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(TranscriptError, match=r"runs\.db: a gzipped journal: unpack it first"):
        load_transcripts(path)


def test_a_foreign_database_is_left_alone(tmp_path):
    import sqlite3

    path = tmp_path / "other.db"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE people (name TEXT)")
    database.commit()
    database.close()
    before = path.read_bytes()
    with pytest.raises(TranscriptError, match="not a journal"):
        load_transcripts(path)
    assert path.read_bytes() == before


def test_paths_that_are_not_there(tmp_path):
    with pytest.raises(TranscriptError, match="no such file"):
        load_transcripts(tmp_path / "gone.json")
    with pytest.raises(TranscriptError, match="no file ending in"):
        load_transcripts(tmp_path)
    with pytest.raises(TranscriptError, match="no files are given"):
        load_transcripts(tmp_path.glob("*.traj"))


def test_a_folder_is_searched_for_each_kind_of_file(tmp_path):
    with Journal(tmp_path / "journal.sqlite3") as journal:
        journal.append("kept", "message", {"ref": "m0", "message": CHAT[1]})
    for name in ("a.json", "b.jsonl.gz", "c/d.traj"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path / name, json.dumps(CHAT), name.endswith("gz"))
    for name in ("e.txt", "f.log.gz"):
        write(tmp_path / name, "Question: How high?\n", name.endswith("gz"))
    assert {t.id for t in load_transcripts(tmp_path)} == {"journal/kept", "a/1", "b/1", "c/d/1", "e/1", "f/1"}


def test_folders_and_indices(sample):
    transcripts = load_transcripts(sample)
    assert len(transcripts) == sum(len(load_transcripts(path)) for path in sample.iterdir())
    assert transcripts[1].id == list(transcripts)[1].id
    assert [t.id for t in transcripts[:2]] == [transcripts[0].id, transcripts[1].id]
    with pytest.raises(IndexError):
        transcripts[len(transcripts)]


def test_files_are_read_one_run_at_a_time(tmp_path):
    """A fault at the end does not keep the runs before it from being read."""
    path = write(
        tmp_path / "runs.json",
        f"[{json.dumps({'messages': CHAT})},\n" * 1 + json.dumps({"messages": CHAT}) + ",\n nonsense]",
    )
    found = iter(load_transcripts(path))
    assert plain(next(found)) == plain(next(found)) == PLAIN
    with pytest.raises(TranscriptError, match="3"):
        next(found)


@pytest.mark.parametrize("form", ["{}", "[{}]"])
def test_a_file_is_not_held_whole(form, tmp_path):
    """Neither one run a line, nor an array without any line breaks."""
    run = json.dumps({"messages": [{"role": "user", "content": "1" * 100_000}]})
    path = write(tmp_path / "runs.json", form.format((", " if "[" in form else "\n").join([run] * 300)))
    tracemalloc.start()
    assert sum(1 for _ in load_transcripts(path)) == 300
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < path.stat().st_size / 3


KEYS = re.findall(
    r"\w+",
    """role content messages type data tool_calls function id name arguments traj task_id simulations history trajectory
    observation response action source args cause kind lc kwargs values usage system info query tool_call_ids""",
)
NAMES = ["user", "assistant", "tool", "ai", "human", "tool_use", "ActionEvent", "agent"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(NAMES),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=25,
)


def survives(path, data):
    path.write_bytes(data)
    try:
        assert all(isinstance(t, Transcript) for t in load_transcripts(path))
    except TranscriptError as error:
        assert str(path) in str(error)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200))
@pytest.mark.parametrize("start", [b"", b"{", b"[", b"\x1f\x8b", b"SQLite format 3\0", b"Question: a\nThought:"])
def test_any_bytes_give_runs_or_a_transcript_error(start, data, tmp_path):
    survives(tmp_path / "any", start + data)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents=st.lists(JSON, min_size=1, max_size=3), indent=st.sampled_from([None, 1]))
def test_any_json_gives_runs_or_a_transcript_error(documents, indent, tmp_path):
    survives(tmp_path / "any", "\n".join(json.dumps(d, indent=indent) for d in documents).encode())


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(sorted(DOCUMENTS)), path=st.lists(st.integers(0, 6), max_size=6), value=JSON)
def test_a_run_with_one_part_replaced_never_breaks_the_reader(name, path, value, tmp_path):
    document = json.loads(json.dumps(DOCUMENTS[name]))
    spot, keys = document, []
    for number in path:
        keys = list(spot) if isinstance(spot, dict) else list(range(len(spot))) if isinstance(spot, list) else []
        if not keys:
            break
        key = keys[number % len(keys)]
        parent, spot = spot, spot[key]
    if path:
        parent[key] = value
    survives(tmp_path / "any", json.dumps(document).encode())
