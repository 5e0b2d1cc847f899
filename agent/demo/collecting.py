"""How the stand-in brings the figures of one station into its context."""

from __future__ import annotations

from . import moves
from .reading import Quantity, written
from .scene import Scene, Turn
from .stations import QUANTITIES, figures, subject
from .wording import wording


def collect(scene: Scene, name: str, head: str, more: str = "") -> Turn | None:
    """The next turn of search, fetch and, where the document was shortened too much, look-up; None when it is done.

    `head` begins every thought of it, and so tells whether the last turn belonged to this station; `more` ends it.
    """
    words, last = wording(scene.language), scene.last
    if last is None or not last.turn.thought.startswith(head):
        query = " ".join([_own_name(name), *(_label(name, quantity) for quantity in QUANTITIES)])
        return Turn(f"{head} {words.find.format(name)}{more}", (moves.search(query),))
    if last.tool == "search":
        document = moves.document_on(subject(name), "\n".join(last.results))
        said = words.read.format(document, name)
        return Turn(f"{head} {said}{more}", (moves.fetch(document),)) if document else None
    return look_up(scene, name, head, more)


def look_up(scene: Scene, name: str, head: str, more: str = "") -> Turn | None:
    """The look-up of a figure that is not in sight; None when both are, or when each has been looked up in vain.

    A figure that is in sight is written down in the thought, as the other's look-up may push it out of the context.
    """
    last, values = scene.last, figures(name, scene.text)
    queries = [f"{_label(name, quantity)} {_own_name(name)}" for quantity in QUANTITIES]
    asked = str(last.turn.calls[0][1]) if last and last.tool == "lookup" and last.turn.thought.startswith(head) else ""
    begin = next((at for at, query in enumerate(queries, 1) if query in asked), 0)
    for at in range(begin, len(queries)):
        if values[at] is None:
            said = wording(scene.language).look_up.format(_label(name, QUANTITIES[at]), name)
            return Turn(f"{head} {said}{seen(scene, name)}{more}", (moves.lookup(queries[at]),))
    return None


def seen(scene: Scene, name: str) -> str:
    """What the context shows of a station's figures, as the stand-in writes them down."""
    found = zip(QUANTITIES, figures(name, scene.text), strict=True)
    return "".join(
        f" {name}: {_label(name, quantity)} {written(value)} {quantity.unit}."
        for quantity, value in found
        if value is not None
    )


def _own_name(name: str) -> str:
    """The name by which a station's document calls it: `Three Gorges (三峡)` is `三峡` there."""
    return name.partition("(")[2].rstrip(")") or name


def _label(name: str, quantity: Quantity) -> str:
    """What the quantity is called in the language of that name."""
    return quantity.labels.split("|")[0 if _own_name(name).isascii() else 1]
