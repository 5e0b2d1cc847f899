"""What stands in a run of a known format is read, or refused with its name; it is never left out in silence."""

import json

import pytest
from carryforward.memory.lab import TranscriptError, load_transcripts

TASK = {"role": "user", "content": "Add."}


def run_of(tmp_path, document):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document))
    [run] = load_transcripts(path)
    return [
        (m.role, m.text, m.tool_call_id, [(c.id, c.name, json.loads(c.arguments)) for c in m.tool_calls])
        for m in run.messages
    ]


def fault_of(tmp_path, document, name="run.json"):
    path = tmp_path / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    with pytest.raises(TranscriptError) as error:
        list(load_transcripts(path))
    assert str(error.value).startswith(str(path))
    return str(error.value)


@pytest.mark.parametrize("kind", ["tool_result", "robot", "chat", None])
def test_a_langchain_message_of_unknown_type_is_refused(kind, tmp_path):
    said = fault_of(tmp_path, [{"type": "human", "content": "Add."}, {"type": kind, "content": "2"}])
    assert f"run.json:1: message 1 is of the unknown type {kind or ''!r}: expected one of ai, function, human" in said


CALL = {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls"}}
SEEN = {"id": 2, "source": "agent", "observation": "run", "content": "a.txt"}


@pytest.mark.parametrize(
    ("event", "answers"),
    [
        (SEEN, "event_1"),
        ({**SEEN, "tool_call_metadata": {"tool_call_id": "event_1"}}, "event_1"),
        ({**SEEN, "cause": 1}, "event_1"),
        ({**SEEN, "cause": 77}, None),  # of an action that is not the agent's
        ({**SEEN, "observation": "agent_state_changed"}, "hidden"),
    ],
)
def test_an_openhands_observation_is_of_its_call_or_of_the_one_before_it(event, answers, tmp_path):
    _, *after = run_of(tmp_path, [CALL, event])
    role = "tool" if answers else "user"
    assert after == ([] if answers == "hidden" else [(role, "a.txt", answers, [])])


def test_an_openhands_observation_after_an_answered_call_is_a_message(tmp_path):
    fault = {"id": 3, "source": "environment", "observation": "error", "content": "no call was found"}
    assert run_of(tmp_path, [CALL, SEEN, fault])[2:] == [("user", "no call was found", None, [])]


def test_openhands_events_without_ids_are_paired(tmp_path):
    events = [{key: value for key, value in event.items() if key != "id"} for event in (CALL, SEEN)]
    first, seen, second, seen_too = run_of(tmp_path, events * 2)
    assert [first[3][0][0], second[3][0][0]] == [seen[2], seen_too[2]]
    assert seen[2] != seen_too[2]


def test_an_openhands_result_that_names_no_call(tmp_path):
    call = {"kind": "ActionEvent", "source": "agent", "tool_name": "ls", "tool_call_id": "c1", "action": {}}
    seen = {"kind": "ObservationEvent", "source": "environment", "observation": {"content": "a.txt"}}
    assert run_of(tmp_path, [call, seen])[1] == ("tool", "a.txt", "c1", [])


@pytest.mark.parametrize(
    ("items", "name", "arguments", "result"),
    [
        (
            [
                {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": "*** Begin"},
                {
                    "type": "custom_tool_call_output",
                    "call_id": "c1",
                    "output": [{"type": "input_text", "text": "Done"}],
                },
            ],
            "patch",
            {"input": "*** Begin"},
            "Done",
        ),
        (
            [
                {"type": "local_shell_call", "call_id": "c1", "action": {"command": ["ls"]}},
                {"type": "local_shell_call_output", "id": "c1", "output": "a.txt"},
            ],
            "local_shell",
            {"command": ["ls"]},
            "a.txt",
        ),
        (
            [
                {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}},
                {"type": "shell_call_output", "call_id": "c1", "output": [{"stdout": "a.txt"}]},
            ],
            "shell",
            {"commands": ["ls"]},
            '[{"stdout": "a.txt"}]',
        ),
        (
            [
                {"type": "computer_call", "call_id": "c1", "action": {"type": "screenshot"}},
                {
                    "type": "computer_call_output",
                    "call_id": "c1",
                    "output": {"type": "computer_screenshot", "image": 1},
                },
            ],
            "computer",
            {"type": "screenshot"},
            "[computer_screenshot]",
        ),
        (
            [{"type": "mcp_call", "id": "c1", "name": "sum", "arguments": '{"a": 1}', "output": "2"}],
            "sum",
            {"a": 1},
            "2",
        ),
        ([{"type": "mcp_call", "id": "c1", "name": "sum", "arguments": "{}", "error": "gone"}], "sum", {}, "gone"),
        (
            [{"type": "web_search_call", "id": "c1", "action": {"type": "search", "query": "hill"}}],
            "web_search",
            {"type": "search", "query": "hill"},
            "",
        ),
        (
            [{"type": "file_search_call", "id": "c1", "queries": ["hill"], "results": [{"text": "12345 m"}]}],
            "file_search",
            {"queries": ["hill"]},
            "12345 m",
        ),
    ],
)
def test_calls_of_all_kinds_in_the_responses_api(items, name, arguments, result, tmp_path):
    messages = run_of(tmp_path, [TASK, {"type": "reasoning", "summary": []}, *items])
    assert messages[1:] == [("assistant", "", None, [("c1", name, arguments)]), ("tool", result, "c1", [])]


def test_an_item_without_a_counterpart_in_a_chat_is_refused(tmp_path):
    said = fault_of(tmp_path, [TASK, {"type": "image_generation_call", "id": "i1", "result": "iVBORw0"}])
    assert "run.json:1: item 1, 'image_generation_call', is not supported" in said


def test_a_log_without_a_question_has_no_task(tmp_path):
    log = "\n> Entering new AgentExecutor chain...\nThought: I search.\nAction: Search\nObservation: A hill.\n"
    said = fault_of(tmp_path, log, "run.log")
    assert "run.log:3: no task: a log begins with a line `Question: …`" in said


@pytest.mark.parametrize("query", [[], None, [{"role": "user", "content": "A demonstration.", "is_demo": True}]])
def test_a_trajectory_of_turns_alone_has_no_task(query, tmp_path):
    turn = {"response": "ls", "observation": "a.txt", "action": "ls", "query": query}
    assert "run.traj:1: no task" in fault_of(tmp_path, {"trajectory": [turn], "info": {}}, "run.traj")
