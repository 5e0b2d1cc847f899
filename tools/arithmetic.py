"""Arithmetic of bounded size: exact on fractions, to 50 digits where a result is irrational.

Every operation checks the size of its result before it is computed, so no call takes more than milliseconds.
Decimals follow the current decimal context: compute inside `decimal.localcontext(CONTEXT)`.
"""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from fractions import Fraction

Number = Fraction | Decimal
"""An exact number, or one rounded to 50 digits."""

CONTEXT = Context(prec=50, Emax=100_000, Emin=-100_000, traps=[DivisionByZero, InvalidOperation, Overflow])
_MAX_BITS = 10_000
_MAX_FACTORIAL = 1_000
_MAX_EXACT_DIGITS = 50

PI = Decimal("3.1415926535897932384626433832795028841971693993751")
TAU = Decimal("6.2831853071795864769252867665590057683943387987502")
E = Decimal("2.7182818284590452353602874713526624977572470936999")


class UndefinedError(Exception):
    """Why there is no result: too large, undefined, or the wrong kind of number."""


def too_large() -> UndefinedError:
    return UndefinedError(f"the result is too large (more than {_MAX_BITS * 3 // 10:,} digits)")


def to_decimal(value: Number) -> Decimal:
    if isinstance(value, Decimal):
        return value
    return Decimal(value.numerator) / Decimal(value.denominator)


def _bounded(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_BITS:
        raise too_large()
    return value


def add(a: Number, b: Number) -> Number:
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return _bounded(a + b)
    return to_decimal(a) + to_decimal(b)


def subtract(a: Number, b: Number) -> Number:
    return add(a, -b)


def multiply(a: Number, b: Number) -> Number:
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return _bounded(a * b)
    return to_decimal(a) * to_decimal(b)


def divide(a: Number, b: Number) -> Number:
    if b == 0:
        raise UndefinedError("division by zero")
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return _bounded(a / b)
    return to_decimal(a) / to_decimal(b)


def floor_divide(a: Number, b: Number) -> Number:
    return floor(divide(a, b))


def modulo(a: Number, b: Number) -> Number:
    """The remainder with the sign of b, as in Python."""
    return subtract(a, multiply(b, floor_divide(a, b)))


def power(base: Number, exponent: Number) -> Number:
    if base == 0 and exponent < 0:
        raise UndefinedError("division by zero (0 to a negative power)")
    if isinstance(exponent, Fraction) and exponent.denominator == 1:
        if isinstance(base, Decimal):
            return base**exponent.numerator
        return _whole_power(base, exponent.numerator)
    if base < 0:
        raise UndefinedError("a negative number to a broken power is not a real number")
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator <= 64:
        exact = _exact_root(base, exponent.denominator)
        if exact is not None:
            return _whole_power(exact, exponent.numerator)
    return to_decimal(base) ** to_decimal(exponent) if base else Fraction(0)


def _whole_power(base: Fraction, exponent: int) -> Fraction:
    size = max(abs(base.numerator), base.denominator)
    if size > 1 and (size.bit_length() - 1) * abs(exponent) > _MAX_BITS:
        raise too_large()
    if size == 1:  # -1, 0 or 1, to whatever power
        return base if exponent % 2 else base * base if exponent else Fraction(1)
    return _bounded(base**exponent)


def _exact_root(value: Fraction, degree: int) -> Fraction | None:
    top, bottom = _whole_root(value.numerator, degree), _whole_root(value.denominator, degree)
    return None if top is None or bottom is None else Fraction(top, bottom)


def _whole_root(value: int, degree: int) -> int | None:
    if value < 2:
        return value
    low, high = 1, 1 << -(-value.bit_length() // degree)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**degree <= value else (low, middle - 1)
    return low if low**degree == value else None


def root(value: Number, degree: Number) -> Number:
    whole = whole_number(degree, "the degree of a root")
    if whole < 1:
        raise UndefinedError("the degree of a root must be at least 1")
    if value < 0:
        if whole % 2 == 0:
            raise UndefinedError("an even root of a negative number is not a real number")
        return -power(-value, Fraction(1, whole))
    return power(value, Fraction(1, whole))


def logarithm(value: Number, base: Number | None = None) -> Number:
    """The natural logarithm, or that to a base."""
    if value <= 0 or (base is not None and (base <= 0 or base == 1)):
        raise UndefinedError("a logarithm needs a positive number and a positive base other than 1")
    if base == 10:
        return to_decimal(value).log10()
    natural = to_decimal(value).ln()
    return natural if base is None else natural / to_decimal(base).ln()


def exponential(value: Number) -> Number:
    return to_decimal(value).exp()


def floor(value: Number) -> Number:
    return _to_whole(value, ROUND_FLOOR)


def ceiling(value: Number) -> Number:
    return _to_whole(value, ROUND_CEILING)


def _to_whole(value: Number, rounding: str) -> Fraction:
    if isinstance(value, Fraction):
        return Fraction(math.floor(value) if rounding == ROUND_FLOOR else math.ceil(value))
    if value.adjusted() > _MAX_BITS * 3 // 10:
        raise too_large()
    return Fraction(value.to_integral_value(rounding))


def truncate(value: Number) -> Number:
    return floor(value) if value >= 0 else ceiling(value)


def round_half_up(value: Number, places: Number = Fraction(0)) -> Number:
    """Rounded as taught at school: a half goes away from zero."""
    shift = power(Fraction(10), Fraction(whole_number(places, "the number of decimals")))
    size = floor(add(multiply(abs(value), shift), Fraction(1, 2)))
    return divide(size if value >= 0 else -size, shift)


def factorial(value: Number) -> Number:
    whole = _natural_number(value, "factorial")
    if whole > _MAX_FACTORIAL:
        raise too_large()
    return Fraction(math.factorial(whole))


def combinations(n: Number, k: Number) -> Number:
    total, chosen = _natural_number(n, "comb"), _natural_number(k, "comb")
    if min(chosen, abs(total - chosen)) * total.bit_length() > _MAX_BITS:
        raise too_large()
    return Fraction(math.comb(total, chosen))


def permutations(n: Number, k: Number) -> Number:
    total, chosen = _natural_number(n, "perm"), _natural_number(k, "perm")
    if min(chosen, total) * total.bit_length() > _MAX_BITS:
        raise too_large()
    return Fraction(math.perm(total, chosen))


def whole_number(value: Number, what: str) -> int:
    if value != floor(value):
        raise UndefinedError(f"{what} needs a whole number, not {write_number(value)}")
    return int(value)


def _natural_number(value: Number, what: str) -> int:
    if value < 0:
        raise UndefinedError(f"{what} needs a whole number from 0 on, not {write_number(value)}")
    return whole_number(value, what)


def write_number(value: Number) -> str:
    """Exact in full where that takes at most 50 digits (whole numbers always), else as the nearest float."""
    if isinstance(value, Fraction):
        if value.denominator == 1:
            return str(value.numerator)
        exact = _terminating(value)
        if exact is not None:
            return _plain(exact)
        value = to_decimal(value)
    nearest = float(value)
    if value and (math.isinf(nearest) or abs(nearest) < 1e-300):
        return str(Context(prec=17).create_decimal(value)).replace("E", "e")
    return _plain(Decimal(repr(nearest)))


def _terminating(value: Fraction) -> Decimal | None:
    context = Context(prec=_MAX_EXACT_DIGITS)
    exact = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return exact if Fraction(exact) == value else None


def _plain(value: Decimal) -> str:
    if value and not -7 <= value.adjusted() < 21:
        return str(value.normalize()).replace("E", "e")
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
