"""The functions and constants that the calculator knows by name."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from . import arithmetic as am
from .arithmetic import Number, UndefinedError

MANY = 99

CONSTANTS: dict[str, Number] = {"pi": am.PI, "e": am.E, "tau": am.TAU}


def square_root(value: Number) -> Number:
    return am.root(value, Fraction(2))


def _cube_root(value: Number) -> Number:
    return am.root(value, Fraction(3))


def _absolute(value: Number) -> Number:
    return abs(value)


def _least(*values: Number) -> Number:
    return min(values)


def _greatest(*values: Number) -> Number:
    return max(values)


def _sum(*values: Number) -> Number:
    total: Number = Fraction(0)
    for value in values:
        total = am.add(total, value)
    return total


def _mean(*values: Number) -> Number:
    return am.divide(_sum(*values), Fraction(len(values)))


def _natural_logarithm(value: Number) -> Number:
    return am.logarithm(value)


def _logarithm_to_10(value: Number) -> Number:
    return am.logarithm(value, Fraction(10))


def _logarithm_to_2(value: Number) -> Number:
    return am.logarithm(value, Fraction(2))


def _to_degrees(angle: Number) -> Number:
    return am.divide(am.multiply(angle, Fraction(180)), am.PI)


def _to_radians(angle: Number) -> Number:
    return am.divide(am.multiply(angle, am.PI), Fraction(180))


def _greatest_common_divisor(*values: Number) -> Number:
    return Fraction(math.gcd(*(am.whole_number(value, "gcd") for value in values)))


def _least_common_multiple(*values: Number) -> Number:
    multiple = 1
    for value in values:
        multiple = int(am.multiply(Fraction(math.lcm(multiple, am.whole_number(value, "lcm"))), Fraction(1)))
    return Fraction(multiple)


def _by_float(function: Callable[[float], float]) -> Callable[[Number], Number]:
    """A function of the math module, to the 15 digits that a float holds; what is zero but for rounding is zero."""

    def apply(value: Number) -> Number:
        try:
            result = function(float(value))
        except (ValueError, OverflowError):
            raise UndefinedError(f"the function is not defined at {am.write_number(value)}") from None
        return Decimal(repr(result)) if abs(result) > 1e-15 else Fraction(0)

    return apply


FUNCTIONS: dict[str, tuple[Callable[..., Number], int, int]] = {
    # name: function, least and greatest number of values
    "sqrt": (square_root, 1, 1),
    "cbrt": (_cube_root, 1, 1),
    "root": (am.root, 2, 2),
    "pow": (am.power, 2, 2),
    "mod": (am.modulo, 2, 2),
    "abs": (_absolute, 1, 1),
    "round": (am.round_half_up, 1, 2),
    "floor": (am.floor, 1, 1),
    "ceil": (am.ceiling, 1, 1),
    "trunc": (am.truncate, 1, 1),
    "min": (_least, 1, MANY),
    "max": (_greatest, 1, MANY),
    "sum": (_sum, 1, MANY),
    "mean": (_mean, 1, MANY),
    "exp": (am.exponential, 1, 1),
    "ln": (_natural_logarithm, 1, 1),
    "log": (am.logarithm, 1, 2),
    "log10": (_logarithm_to_10, 1, 1),
    "log2": (_logarithm_to_2, 1, 1),
    "sin": (_by_float(math.sin), 1, 1),
    "cos": (_by_float(math.cos), 1, 1),
    "tan": (_by_float(math.tan), 1, 1),
    "asin": (_by_float(math.asin), 1, 1),
    "acos": (_by_float(math.acos), 1, 1),
    "atan": (_by_float(math.atan), 1, 1),
    "degrees": (_to_degrees, 1, 1),
    "radians": (_to_radians, 1, 1),
    "factorial": (am.factorial, 1, 1),
    "comb": (am.combinations, 2, 2),
    "perm": (am.permutations, 2, 2),
    "gcd": (_greatest_common_divisor, 1, MANY),
    "lcm": (_least_common_multiple, 1, MANY),
}
