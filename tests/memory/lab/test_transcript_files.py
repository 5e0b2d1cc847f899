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


TAU = {"task_id": 0, "trial": 0, "reward": 1.0, "traj": CHAT}


def ids(runs):
    return [run.id for run in runs]


def test_ids_of_a_folder_begin_with_the_path_of_their_file(tmp_path):
    for name in ("m1/run.json", "m2/run.json", "gpt-4.1.jsonl", "gpt-4.2.jsonl"):
        write(tmp_path / name, TAU, {"messages": CHAT})
    places = ["gpt-4.1", "gpt-4.2", "m1/run", "m2/run"]
    assert ids(load_transcripts(tmp_path)) == [f"{place}/{name}" for place in places for name in ("0/0", "2")]
    assert ids(load_transcripts(sorted(tmp_path.rglob("run.json")))) == ids(load_transcripts(tmp_path))[4:]
    assert ids(load_transcripts(tmp_path / "m1", tmp_path / "m2/run.json")) == ids(load_transcripts(tmp_path))[4:]
    assert ids(load_transcripts(tmp_path / "m1")) == ["run/0/0", "run/2"]
    assert ids(load_transcripts(tmp_path / "m1/run.json")) == ["0/0", "run/2"]


def test_paths_from_where_one_is(tmp_path, monkeypatch):
    for name in ("m1/run.json", "m2/run.json"):
        write(tmp_path / name, TAU)
    monkeypatch.chdir(tmp_path)
    assert ids(load_transcripts("m1/run.json", tmp_path / "m2")) == ["m1/run/0/0", "m2/run/0/0"]
    assert ids(load_transcripts(".")) == ["m1/run/0/0", "m2/run/0/0"]


def test_runs_of_one_name_are_told_apart(tmp_path):
    path = write(tmp_path / "a.jsonl", TAU, TAU, TAU)
    write(tmp_path / "a.json", TAU)
    assert ids(load_transcripts(path)) == ["0/0", "0/0#2", "0/0#3"]
    assert len(set(ids(load_transcripts(tmp_path)))) == 4


EVENTS = [
    {"id": 0, "source": "user", "action": "message", "args": {"content": "List."}},
    *(
        event
        for n in range(1, 13, 2)
        for event in (
            {"id": n, "source": "agent", "action": "run", "args": {"command": f"ls {n}"}},
            {"id": n + 1, "source": "agent", "observation": "run", "cause": n, "content": f"file {n}"},
        )
    ),
]


@pytest.mark.parametrize("name", ["{}.json", "event-{:05}-9f3c.json"])
def test_a_folder_of_events_is_one_run(name, tmp_path):
    for conversation in ("one", "two"):
        for number, event in enumerate(EVENTS):
            write(tmp_path / conversation / "events" / name.format(number), event)
        write(tmp_path / conversation / "base_state.json", {"agent": {}})
        write(tmp_path / conversation / "event_cache" / "0-12.json", EVENTS)
    write(tmp_path / "chat.json", CHAT)
    runs = load_transcripts(tmp_path)
    assert ids(runs) == ["chat/1", "one/1", "two/1"]
    whole = load_transcripts(write(tmp_path / "other.json", EVENTS))
    assert texts(runs)[1:] == texts(whole) * 2
    for folder in (tmp_path / "one", tmp_path / "one/events"):
        assert texts(load_transcripts(folder)) == texts(whole)
        assert ids(load_transcripts(folder)) == ["one/1"]


def test_a_fault_in_a_folder_of_events(tmp_path):
    write(tmp_path / "events/0.json", EVENTS[0])
    write(tmp_path / "events/1.json", 17)
    with pytest.raises(TranscriptError, match=r"events/1\.json:1: 17 is no message or event"):
        load_transcripts(tmp_path)


def test_numbered_files_that_hold_no_events_are_runs_of_their_own(tmp_path):
    for number in range(3):
        write(tmp_path / f"events/{number}.json", CHAT)
    assert ids(load_transcripts(tmp_path)) == ["events/0/1", "events/1/1", "events/2/1"]
