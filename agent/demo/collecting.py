"""How the stand-in brings the figures of one station into its context."""

from __future__ import annotations

from . import moves
from .scene import Scene, Turn
from .stations import figures, subject
from .wording import wording


def collect(scene: Scene, name: str, head: str) -> Turn | None:
    """The next turn of search, fetch and, where the document was shortened too much, look-up; None when it is done.

    `head` begins every thought of it, and so tells whether the last turn belonged to this station.
    """
    words, last = wording(scene.language), scene.last
    if last is None or not last.turn.thought.startswith(head):
        return Turn(f"{head} {words.find.format(name)}", (moves.search(f"{name} {words.query}"),))
    result = "\n".join(last.results)
    if last.tool == "search":
        document = moves.document_on(subject(name), result)
        return Turn(f"{head} {words.read.format(document, name)}", (moves.fetch(document),)) if document else None
    if last.tool == "fetch" and None in figures(name, scene.text):
        place = moves.place_to_read_on(result)
        return Turn(f"{head} {words.read_on.format(name)}", (place,)) if place else None
    return None
