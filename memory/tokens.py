"""Counting tokens as the provider counts them, and the budget that a context may take."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, cast

from .images import image_tokens
from .messages import SAID_OTHERWISE, Message, clean
from .tokenizers import load_tokenizer

# Framing as in OpenAI's cookbook, "How to count tokens with tiktoken"
# (https://cookbook.openai.com/examples/how_to_count_tokens_with_tiktoken): each message costs three tokens and its
# role, a name one more, and every reply is primed with three.
MESSAGE_FRAME = 3
NAME_FRAME = 1
REPLY_PRIMING = 3
ROLE_TOKENS = 1  # each role is one token in cl100k_base and o200k_base
CALL_FRAME = 3  # not in the cookbook: a call's own id and type, on the safe side
# Tool schemas, same source, section on tool calls: the higher of the figures given for the model families.
TOOL_FRAME = 10
PROPERTIES_FRAME = 3
PROPERTY_FRAME = 3
ENUM_ITEM_FRAME = 3
TOOLS_END = 12

_CACHED_TEXTS = 32_768
_LONG_TEXT = 4096  # characters; longer texts are remembered by their hash


class BudgetError(ValueError):
    """The system prompt and the tool schemas alone do not fit the budget."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The tokens of a model's window, and how many of them are kept free for its output."""

    window: int
    output: int = 0

    def __post_init__(self) -> None:
        if self.window <= 0 or self.output < 0 or self.output >= self.window:
            raise BudgetError(
                f"Budget(window={self.window}, output={self.output}): "
                "the window must be positive and larger than the output"
            )

    @property
    def limit(self) -> int:
        """Tokens that a context may take, tool schemas and reply framing counted."""
        return self.window - self.output

    def max_output(self, prompt_tokens: int, wanted: int | None = None) -> int:
        """Output tokens that may be asked for beside a prompt of this size; at least 1."""
        free = max(1, self.window - prompt_tokens)
        return free if wanted is None else max(1, min(wanted, free))


class TokenCounter:
    """Counts text, messages and tool schemas in tokens; each distinct text is encoded once.

    Args:
        model: a model's name; its encoding is looked up in tiktoken. Names that tiktoken does not know
            (local models) are counted with cl100k_base, and `exact` is False.
        encoding: an encoding's name, instead of a model's.

    Attributes:
        exact: False where the model's own tokenizer is not at hand and a stand-in or an estimate counts.
    """

    def __init__(self, model: str | None = None, encoding: str | None = None) -> None:
        self._tokenizer = load_tokenizer(model, encoding)
        self.exact = self._tokenizer.exact
        self.encoding = self._tokenizer.name
        self._counts: OrderedDict[str | bytes, int] = OrderedDict()

    def count(self, text: str) -> int:
        """Tokens of a text. Text that looks like a special token (`<|endoftext|>`) is counted as plain text."""
        key = text if len(text) <= _LONG_TEXT else blake2b(clean(text).encode("utf-8"), digest_size=16).digest()
        known = self._counts.get(key)
        if known is None:
            known = self._counts[key] = self._tokenizer.count(text)
            if len(self._counts) > _CACHED_TEXTS:
                self._counts.popitem(last=False)
        return known

    def count_by_line(self, text: str) -> int:
        """The same as `count`; sooner where most lines were counted before, as in a text that is written anew."""
        if "\n" not in text:
            return self.count(text)
        known = self._counts.get
        return sum(known(piece) or self.count(piece) for piece in self._tokenizer.pieces(text))

    def message(self, message: Message | Mapping[str, Any], *, by_line: bool = False) -> int:
        """Tokens of one message with its framing; `by_line` where most lines of its content were counted before."""
        m = message if isinstance(message, Message) else Message.from_dict(message)
        total = MESSAGE_FRAME + ROLE_TOKENS
        if isinstance(m.content, list):
            total += sum(self._part(part) for part in m.content)
        elif m.content:
            total += self.count_by_line(m.content) if by_line else self.count(m.content)
        if m.name:
            total += NAME_FRAME + self.count(m.name)
        for call in m.tool_calls:
            total += CALL_FRAME + self.count(call.name) + self.count(call.arguments)
        for key in (*SAID_OTHERWISE, "reasoning_content") if m.extra else ():
            said = m.extra.get(key)
            if said:
                total += self.count(said) if isinstance(said, str) else self._as_json(said)
        return total

    def messages(self, messages: Iterable[Message | Mapping[str, Any]]) -> int:
        """Tokens of a whole list, the priming of the reply counted."""
        return REPLY_PRIMING + sum(self.message(m) for m in messages)

    def tools(self, schemas: Sequence[Mapping[str, Any]] | None) -> int:
        """Tokens that a list of tool schemas adds to a prompt."""
        if not schemas:
            return 0
        return TOOLS_END + sum(self._schema(schema) for schema in schemas)

    def truncate(self, text: str, max_tokens: int) -> str:
        """The longest beginning of a text that is found to take at most `max_tokens`; no character is broken."""
        return self._tokenizer.head(clean(text), max_tokens)

    def truncate_left(self, text: str, max_tokens: int) -> str:
        """The longest end of a text that is found to take at most `max_tokens`."""
        return self._tokenizer.tail(clean(text), max_tokens)

    def _part(self, part: Mapping[str, Any]) -> int:
        if part.get("type", "text") == "text":
            return self.count(str(part.get("text", "")))
        if part.get("type") == "image_url":
            return image_tokens(part.get("image_url"))
        return self._as_json(part)

    def _schema(self, schema: Any) -> int:
        function: Any = cast(Any, schema).get("function", schema) if isinstance(schema, Mapping) else schema
        if not isinstance(function, Mapping):
            return self._as_json(function)
        fields = cast(Mapping[str, Any], function)
        description = str(fields.get("description") or "").removesuffix(".")
        total = TOOL_FRAME + self.count(f"{fields.get('name')}:{description}")
        parameters: Any = fields.get("parameters") or {}
        properties: Any = cast(Any, parameters).get("properties") or {} if isinstance(parameters, Mapping) else None
        if not isinstance(properties, Mapping):  # not a schema that a server takes; counted all the same
            return total + self._as_json(parameters)
        return total + self._properties(cast(Mapping[str, Any], properties))

    def _properties(self, properties: Mapping[str, Any]) -> int:
        total = PROPERTIES_FRAME if properties else 0
        for key, raw in properties.items():
            total += PROPERTY_FRAME
            if not isinstance(raw, Mapping):
                total += self.count(f"{key}:{raw}")
                continue
            schema = cast(Mapping[str, Any], raw)
            description = str(schema.get("description") or "").removesuffix(".")
            total += self.count(f"{key}:{schema.get('type')}:{description}")
            choices: Any = schema.get("enum")
            for item in cast(list[Any], choices) if isinstance(choices, list) else ():
                total += ENUM_ITEM_FRAME + self.count(str(item))
            nested = {k: v for k, v in schema.items() if k not in ("type", "description", "enum")}
            if nested:  # the cookbook stops at flat schemas; deeper ones are counted as the JSON they are
                total += self._as_json(nested)
        return total

    def _as_json(self, value: Any) -> int:
        return self.count(json.dumps(value, ensure_ascii=False, default=str))
