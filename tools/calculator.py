"""The calculator: reads arithmetic as people and models write it. No text is ever run as code."""

import re
from decimal import InvalidOperation, Overflow, localcontext
from fractions import Fraction
from typing import Any, NoReturn

from . import arithmetic as am
from .arithmetic import Number, UndefinedError
from .calculator_functions import CONSTANTS, FUNCTIONS, square_root
from .definition import Tool, ToolError

_MAX_CHARACTERS = 2_000
_MAX_DEPTH = 60
_MAX_EXPONENT = 3_000

_PLAIN = str.maketrans(
    {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}  # full-width forms
    | dict.fromkeys("×·⋅∙的", "*")
    | dict.fromkeys("−–—", "-")
    | {"÷": "/", "∕": "/", "\u3000": " ", "\u00a0": " ", "\u202f": " ", "√": "sqrt ", "π": "pi", "％": "%"}
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_SUPERSCRIPT_RUN = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")

_SPACE = re.compile(r"\s*")
_NUMBER = re.compile(r"(?:[0-9][0-9_]*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+(?![0-9A-Za-z_]))?")
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{2,3})*,[0-9]{3}(?![0-9,])(?:\.[0-9]+)?")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_OPERATOR = re.compile(r"\*\*|//|[-+*/%^!(),]")


def evaluate(expression: str) -> Number:
    """The value of an arithmetic expression: a Fraction where it is exact, else a Decimal of 50 digits.

    Raises ToolError when it is not arithmetic, not defined, or too large.
    """
    if len(expression) > _MAX_CHARACTERS:
        raise ToolError(f"the expression has more than {_MAX_CHARACTERS:,} characters; calculate it in parts")
    text = _SUPERSCRIPT_RUN.sub(lambda run: f"^({run[0].translate(_SUPERSCRIPTS)})", expression).translate(_PLAIN)
    try:
        with localcontext(am.CONTEXT):
            return _Reader(text).read()
    except (UndefinedError, _SyntaxError) as fault:
        raise ToolError(f"no result for {_shorten(expression)}: {fault}") from None
    except Overflow:
        raise ToolError(f"no result for {_shorten(expression)}: {am.too_large()}") from None
    except InvalidOperation:
        raise ToolError(f"no result for {_shorten(expression)}: an operation in it is not defined") from None


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:60] + "…")


class _SyntaxError(Exception):
    """Where the text is not arithmetic, and what should stand there."""


class _Reader:
    """Reads and computes an expression from left to right, by operator precedence.

    A value comes with a flag: whether it is a bare percentage, since `200 + 10%` means 220.
    """

    def __init__(self, text: str) -> None:
        self._text = text.strip().rstrip("=?").strip("`\"' ").removeprefix("=")
        self._at = 0
        self._depth = 0
        self._in_call = False

    def read(self) -> Number:
        value, _ = self._sum()
        if self._peek():
            self._fail("an operator such as + - * / ^")
        return value

    def _fail(self, wanted: str) -> NoReturn:
        _ = self._peek()
        rest = self._text[self._at :]
        if not rest:
            raise _SyntaxError(f"it ends where {wanted} should follow")
        raise _SyntaxError(
            f"expected {wanted} at {_shorten(rest[:20])}; write numbers without units or currency signs, "
            "+ - * / // % ^ ! ( ) between them, and known functions"
        )

    def _peek(self) -> str:
        self._at = _SPACE.match(self._text, self._at).end()  # pyright: ignore[reportOptionalMemberAccess]
        found = _OPERATOR.match(self._text, self._at) or _NAME.match(self._text, self._at)
        return found[0] if found else self._text[self._at : self._at + 1]

    def _take(self, *tokens: str) -> str:
        token = self._peek()
        if token not in tokens:
            return ""
        self._at += len(token)
        return token

    def _sum(self) -> tuple[Number, bool]:
        value, percent = self._product()
        while sign := self._take("+", "-"):
            right, right_percent = self._product()
            if right_percent and not percent:
                right = am.multiply(value, right)
            value = am.add(value, right) if sign == "+" else am.subtract(value, right)
            percent = percent and right_percent
        return value, percent

    def _product(self) -> tuple[Number, bool]:
        value, percent = self._signed()
        while sign := self._take("*", "/", "//", "%", "of", "x", "X"):
            right, _ = self._signed()
            percent = False
            match sign:
                case "/":
                    value = am.divide(value, right)
                case "//":
                    value = am.floor_divide(value, right)
                case "%":
                    value = am.modulo(value, right)
                case _:
                    value = am.multiply(value, right)
        return value, percent

    def _signed(self) -> tuple[Number, bool]:
        negative = False
        while sign := self._take("+", "-"):
            negative ^= sign == "-"
        value, percent = self._power()
        return (-value if negative else value), percent

    def _power(self) -> tuple[Number, bool]:
        value, percent = self._postfix()
        if not self._take("^", "**"):
            return value, percent
        self._enter()
        exponent, _ = self._signed()
        self._depth -= 1
        return am.power(value, exponent), False

    def _postfix(self) -> tuple[Number, bool]:
        value, percent = self._atom()
        while True:
            if self._take("!"):
                value = am.factorial(value)
            elif self._peek() == "%" and not self._operand_follows_percent():
                self._at += 1
                value, percent = am.divide(value, Fraction(100)), True
            else:
                return value, percent

    def _operand_follows_percent(self) -> bool:
        """`7 % 3` is a remainder; `15% of 80`, `15% * 80` and `15%` are percentages."""
        after = _SPACE.match(self._text, self._at + 1)
        rest = self._text[after.end() :] if after else ""
        return bool(re.match(r"[0-9.(]|(?!of\b|x\b|X\b)[A-Za-z]", rest))

    def _atom(self) -> tuple[Number, bool]:
        token = self._peek()
        if self._take("("):
            was_in_call, self._in_call = self._in_call, False
            self._enter()
            value, percent = self._sum()
            self._leave(was_in_call)
            return value, percent
        if token[:1].isascii() and token[:1].isalpha():
            return self._named(token), False
        return self._number(), False

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _SyntaxError(f"it is nested more than {_MAX_DEPTH} deep")

    def _leave(self, in_call: bool) -> None:
        if not self._take(")"):
            self._fail("a closing parenthesis )")
        self._depth -= 1
        self._in_call = in_call

    def _named(self, name: str) -> Number:
        known = name.lower()
        if known in CONSTANTS:
            self._at += len(name)
            return CONSTANTS[known]
        if known not in FUNCTIONS:
            raise _SyntaxError(f"{name[:30]!r} is not known; the functions are {', '.join(FUNCTIONS)}")
        self._at += len(name)
        if known == "sqrt" and self._peek() != "(":  # √2
            return square_root(self._postfix()[0])
        if not self._take("("):
            self._fail(f"( after {known}")
        return self._call(known)

    def _call(self, name: str) -> Number:
        was_in_call, self._in_call = self._in_call, True
        self._enter()
        values: list[Any] = [self._sum()[0]]
        while self._take(","):
            values.append(self._sum()[0])
        self._leave(was_in_call)
        function, least, most = FUNCTIONS[name]
        if not least <= len(values) <= most:
            takes = f"{least}" if least == most else f"{least} to {most}"
            raise _SyntaxError(
                f"{name} takes {takes} value(s), not {len(values)} (inside a function, a comma separates values)"
            )
        return function(*values)

    def _number(self) -> Number:
        _ = self._peek()
        grouped = None if self._in_call else _GROUPED.match(self._text, self._at)
        found = grouped or _NUMBER.match(self._text, self._at)
        if not found:
            self._fail("a number")
        self._at = found.end()
        digits = found[0].replace(",", "").replace("_", "")
        exponent = digits.lower().partition("e")[2]
        if exponent and abs(int(exponent)) > _MAX_EXPONENT:
            raise am.too_large()
        return Fraction(digits)


def calculate(expression: str) -> str:
    """The value of an expression, written out. Raises ToolError as `evaluate` does."""
    with localcontext(am.CONTEXT):
        return am.write_number(evaluate(expression))


calculator = Tool(
    "calculator",
    "Use it for every calculation instead of working it out yourself. Takes one arithmetic expression such as "
    "'(8848.86 - 8844.43) * 2', '15% of 80', 'round(2/3, 4)' or 'sqrt(2)^3': + - * / // % ^ ! and "
    f"{', '.join(FUNCTIONS)}; log is the natural logarithm, angles are radians, 200 + 10% is 220. Returns the "
    "number, exact where it can be. Not for units, dates, equations or program code.",
    {
        "type": "object",
        "properties": {"expression": {"type": "string", "description": "The expression, numbers only, no units."}},
        "required": ["expression"],
    },
    calculate,
    timeout=5.0,
    categories=("math",),
)
