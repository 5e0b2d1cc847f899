"""Files and folders: logs of requests are one run, folders of events too, and ids tell all runs apart."""

import json

import pytest
from carryforward.memory.lab import TranscriptError, load_transcripts

CHAT = [
    {"role": "system", "content": "Rules."},
    {"role": "user", "content": "Add."},
    {"role": "assistant", "content": "I add."},
    {"role": "user", "content": "2"},
    {"role": "assistant", "content": "It is 2."},
]
OTHER = [CHAT[0], {"role": "user", "content": "Subtract."}, *CHAT[2:]]
LANGCHAIN = [{"type": kind, "content": kind} for kind in ("human", "ai", "human", "ai")]


def write(path, *values):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(value) for value in values))
    return path


def texts(runs):
    return [[m.text for m in run.messages] for run in runs]


def requests(chat, *lengths):
    return [{"model": "m", "messages": chat[:length]} for length in lengths]


def test_a_log_of_requests_is_one_run_for_each_task(tmp_path):
    log = write(tmp_path / "log.jsonl", *requests(CHAT, 2, 4, 5), *requests(OTHER, 2, 4, 4, 4))
    runs = load_transcripts(log)
    assert texts(runs) == [[m["content"] for m in CHAT], [m["content"] for m in OTHER[:4]]]
    assert [run.id for run in runs] == ["log/1", "log/2"]


def test_runs_that_part_are_all_kept(tmp_path):
    end = {"role": "assistant", "content": "It is 3."}
    runs = load_transcripts(write(tmp_path / "runs.jsonl", *requests(CHAT, 5), *requests([*CHAT[:4], end], 5)))
    assert [run[-1] for run in texts(runs)] == ["It is 2.", "It is 3."]


@pytest.mark.parametrize("array", [False, True])
@pytest.mark.parametrize("newest_first", [False, True])
def test_the_states_of_a_langgraph_thread_are_one_run(array, newest_first, tmp_path):
    states = [{"values": {"messages": LANGCHAIN[:n]} if n else {}, "next": ["agent"]} for n in range(5)]
    if newest_first:
        states.reverse()
    [run] = load_transcripts(write(tmp_path / "states.json", *([states] if array else states)))
    assert [m.text for m in run.messages] == ["human", "ai", "human", "ai"]


def test_what_a_log_holds_before_a_fault_is_read(tmp_path):
    log = write(tmp_path / "log.jsonl", *requests(CHAT, 2, 4), {"messages": 1, "x": 1})
    found = iter(load_transcripts(log))
    assert len(next(found)) == 4
    with pytest.raises(TranscriptError, match=r"log\.jsonl:3:"):
        next(found)
