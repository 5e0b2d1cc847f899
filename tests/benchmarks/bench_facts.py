"""How well facts are read: the gold sets of `CARRYFORWARD_DATA`, the demands of real runs, and the speed.

    CARRYFORWARD_DATA=... python tests/benchmarks/bench_facts.py [--peers quantulum3,recognizers] [--runs 40]

The gold sets are scored in this process by the rules of `score` below: a number counts as found when its span
overlaps and its value is equal. Peers run only where they import. Without the folder there is nothing to measure.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NamedTuple

from carryforward.memory.facts import extract_facts

Extract = Callable[[str], list["Number"]]


class Number(NamedTuple):
    """One number that a system read: value and span."""

    value: Decimal
    span: tuple[int, int]


class Gold(NamedTuple):
    """A text and the numbers that stand in it."""

    text: str
    numbers: list[Number]


def ours(text: str) -> list[Number]:
    return [Number(n, f.span) for f in extract_facts(text) for n in f.numbers]


def peer(name: str) -> Extract | None:
    """The peer as its documentation shows it, or None where the package is missing."""
    try:
        if name == "quantulum3":
            from quantulum3 import classifier, parser  # pyright: ignore

            classifier.USE_CLF = False  # its stored classifier does not load with current scikit-learn releases

            return lambda text: [Number(Decimal(repr(q.value)), q.span) for q in parser.parse(text)]
        import emoji  # pyright: ignore

        if not hasattr(emoji, "UNICODE_EMOJI"):
            emoji.UNICODE_EMOJI = emoji.EMOJI_DATA  # the package expects emoji < 2
        from recognizers_number import Culture, NumberRecognizer  # pyright: ignore
    except ImportError:
        return None
    models = {c: NumberRecognizer(c).get_number_model() for c in (Culture.English, Culture.Chinese)}

    def recognizers(text: str) -> list[Number]:
        culture = Culture.Chinese if re.search("[\u4e00-\u9fff]", text) else Culture.English
        found = models[culture].parse(text)
        return [Number(Decimal(r.resolution["value"]), (r.start, r.end + 1)) for r in found]

    return recognizers


def lines(path: Path) -> Iterator[dict[str, Any]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def gold_numbers(results: list[dict[str, Any]]) -> list[Number]:
    found: list[Number] = []
    for result in results:
        value = (result.get("Resolution") or {}).get("value")
        if value not in (None, "null"):
            found.append(Number(Decimal(str(value)), (result["Start"], result["End"] + 1)))
    return found


def false_positives(extract: Extract, path: Path) -> float:
    """Share of telephone numbers, addresses, links and the like in which a number was read."""
    touched = total = 0
    for row in lines(path):
        predicted = guarded(extract, row["input"])
        for result in row["results"]:
            start = result.get("Start", row["input"].find(result["Text"]))
            if start >= 0 and result["TypeName"] != "quotedText" and re.search(r"\d", result["Text"]):
                total += 1
                touched += any(overlaps(p.span, (start, start + len(result["Text"]))) for p in predicted)
    return touched / total


def number_sets(folder: Path) -> dict[str, list[Gold]]:
    """Numbers and numbers with units of Recognizers-Text (English, Chinese) and the prices of price-parser."""
    sets: dict[str, list[Gold]] = {
        f"{kind} {language}": [] for kind in ("numbers", "units") for language in ("English", "Chinese")
    } | {"prices": []}
    for name, kind in (("recognizers_Number.jsonl", "numbers"), ("recognizers_NumberWithUnit.jsonl", "units")):
        seen: set[str] = set()
        for row in lines(folder / name):
            skipped = "python" in (row.get("not_supported") or "").lower()
            if skipped or row["input"] in seen or (kind == "numbers" and row["model"] != "NumberModel"):
                continue
            seen.add(row["input"])
            language = row["lang"] if row["lang"] == "Chinese" else "English"
            sets[f"{kind} {language}"].append(Gold(row["input"], gold_numbers(row["results"])))
    for row in lines(folder / "price_parser.jsonl"):
        text, amount = row["price_raw"], row.get("amount_text")
        at = text.find(amount) if text and amount else -1
        if at >= 0 and not row.get("decimal_separator") and not row.get("digit_group_separator"):
            sets["prices"].append(Gold(text, [Number(Decimal(repr(row["amount_float"])), (at, at + len(amount)))]))
    return sets


def overlaps(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return min(a[1], b[1]) > max(a[0], b[0])


def close(a: Decimal, b: Decimal) -> bool:
    return abs(a - b) <= max(abs(a), abs(b)) * Decimal("1e-9")


def guarded(extract: Extract, text: str) -> list[Number]:
    """What a system reads; peers raise on some texts, which then give nothing."""
    try:
        return extract(text)
    except (ValueError, InvalidOperation, KeyError, IndexError, TypeError, AttributeError):
        return []


def score(extract: Extract, golds: list[Gold]) -> float:
    """F1 of values; predictions outside the gold spans are not judged."""
    found = wrong = total = 0
    for gold in golds:
        predicted = guarded(extract, gold.text)
        total += len(gold.numbers)
        for number in gold.numbers:
            near = [p for p in predicted if overlaps(p.span, number.span)]
            hit = any(close(p.value, number.value) for p in near)
            found += hit
            wrong += len(near) - hit
    precision = found / (found + wrong) if found + wrong else 0.0
    recall = found / total if total else 0.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


_TOKEN = re.compile(r"[^\s\"'`()\[\]{}<>,;=|\\]+")
_MARK = re.compile(r"[\d_./:@#-]")


def values(text: str) -> set[str]:
    """Numbers, identifiers and paths: at least five characters with a digit or a separator in them."""
    tokens = (t.strip(".,:;!?*-") for t in _TOKEN.findall(text))
    return {t for t in tokens if len(t) >= 5 and _MARK.search(t)}


def action_text(message: dict[str, Any]) -> str:
    """The arguments of the calls of an assistant message, or its text."""
    calls = message.get("tool_calls") or []
    arguments: list[str] = []
    for call in calls:
        raw = call["function"].get("arguments") or ""
        try:
            parsed = json.loads(raw)
        except ValueError:
            parsed = raw
        arguments.extend(str(v) for v in parsed.values()) if isinstance(parsed, dict) else arguments.append(raw)
    return " ".join(arguments) if calls else message.get("content") or ""


def demand_coverage(path: Path, runs: int) -> tuple[int, int]:
    """(held, demanded): demands of an action that stood in an earlier observation and not in the task."""
    held = demanded = 0
    for count, run in enumerate(lines(path)):
        if count >= runs:
            break
        messages = run["messages"]
        first = next((i for i, m in enumerate(messages) if m["role"] == "user"), 0)
        head = " ".join(
            str(m.get("content") or "") for i, m in enumerate(messages) if i <= first or m["role"] == "system"
        )
        observed: set[str] = set()
        texts: set[str] = set()
        joined = ""
        for message in messages[first + 1 :]:
            content = str(message.get("content") or "")
            if message["role"] == "assistant":
                for value in values(action_text(message)) & observed:
                    if value not in head:
                        demanded += 1
                        held += value in texts or value in joined
            elif message["role"] != "system":
                observed |= values(content)
                new = {f.text for f in extract_facts(content)} - texts
                joined += "\n" + "\n".join(new)
                texts |= new
    return held, demanded


def observations(folder: Path, megabytes: float) -> list[str]:
    """Observations of at least 2,000 characters of all transcripts, in turn."""
    files = [
        [
            str(m["content"])
            for run in lines(p)
            for m in run["messages"]
            if m["role"] == "tool" and len(str(m["content"])) >= 2000
        ]
        for p in sorted(folder.glob("*.jsonl.gz"))
    ]
    out: list[str] = []
    size = place = 0
    while size < megabytes * 1e6 and any(place < len(f) for f in files):
        for file in files:
            if place < len(file):
                out.append(file[place])
                size += len(file[place].encode("utf-8", "replace"))
        place += 1
    return out


def speed(extract: Extract, texts: list[str], seconds: float = 20.0) -> float:
    """MB/s of processor time, the best of three passes; a slow system is stopped after `seconds`."""
    best = 0.0
    for _ in range(3):
        start, done = time.process_time(), 0
        for text in texts:
            extract(text)
            done += len(text.encode("utf-8", "replace"))
            if time.process_time() - start > seconds:
                break
        spent = time.process_time() - start
        best = max(best, done / 1e6 / spent)
        if spent > seconds:
            break
    return best


def growth(extract: Callable[[str], object], text: str, size: int) -> float:
    """How many times as long ten samples of `size` characters take as one text than one of them alone.

    The long text is the ten samples and the short time the mean of all ten, so that both have the same mix of
    lines; a single sample may be denser in figures than the rest. Processor time, the fastest of alternating rounds
    (more where a round is short), after one round that is not counted.
    """
    rounds = max(7, 600_000 // size)
    samples = [text[i * size : (i + 1) * size] for i in range(10)]
    alone: list[float] = []
    together: list[float] = []
    for _ in range(rounds + 1):
        start = time.process_time()
        for sample in samples:
            extract(sample)
        middle = time.process_time()
        extract("".join(samples))
        alone.append(middle - start)
        together.append(time.process_time() - middle)
    return 10 * min(together[1:]) / min(alone[1:])


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--peers", default="quantulum3,recognizers")
    arguments.add_argument("--runs", type=int, default=40, help="transcripts a file for the coverage of demands")
    options = arguments.parse_args()
    folder = os.environ.get("CARRYFORWARD_DATA")
    if not folder:
        print("CARRYFORWARD_DATA is not set: there are no gold sets and no transcripts to measure on")
        return 0
    data = Path(folder)
    systems: dict[str, Extract] = {"carryforward": ours}
    for name in options.peers.split(","):
        found = peer(name)
        if found:
            systems[name] = found
        else:
            print(f"{name}: not installed, left out")
    sets = number_sets(data / "numbers")
    texts = observations(data / "transcripts", 1.0)
    print("| value F1 | " + " | ".join(systems) + " |")
    print("|---|" + "---|" * len(systems))
    for name, golds in sets.items():
        print(f"| {name} ({len(golds)}) | " + " | ".join(f"{score(s, golds):.3f}" for s in systems.values()) + " |")
    sequences = data / "numbers" / "recognizers_Sequence.jsonl"
    rates = (f"{false_positives(s, sequences):.3f}" for s in systems.values())
    print("| false positives in phone numbers, links… | " + " | ".join(rates) + " |")
    print("| MB/s on observations | " + " | ".join(f"{speed(s, texts):.3g}" for s in systems.values()) + " |")
    sentences = [gold.text for golds in sets.values() for gold in golds]
    print(f"| MB/s on the sentences of the gold sets | {speed(ours, [' '.join(sentences)]):.3g} |")
    print("\n| characters of a sample | ten samples in one text take, times one |\n|---|---|")
    joined = "\n".join(observations(data / "transcripts", 2.1))
    for size in (20_000, 50_000, 200_000):
        print(f"| {size:,} | {growth(extract_facts, joined, size):.2f} |")
    print("\n| demands held | held | of | share |\n|---|---|---|---|")
    totals: Counter[str] = Counter()
    for path in sorted((data / "transcripts").glob("*.jsonl.gz")):
        held, demanded = demand_coverage(path, options.runs)
        totals.update(held=held, demanded=demanded)
        print(f"| {path.name.removesuffix('.jsonl.gz')} | {held} | {demanded} | {held / max(demanded, 1):.4f} |")
    print(f"| all | {totals['held']} | {totals['demanded']} | {totals['held'] / max(totals['demanded'], 1):.4f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
