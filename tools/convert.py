"""`convert`: a quantity in another unit, by the units library pint, computed with decimals."""

import functools
import re
from decimal import Decimal, InvalidOperation, Overflow
from typing import Any

from .arithmetic import write_number
from .definition import Tool, ToolError

_POWER = r"(?:(?:\^|\*\*)?-?[1-9])?"
_NAME = rf"[A-Za-zµμΩΩÅ°_]+{_POWER}"
_UNIT = re.compile(rf"(?:1 ?/ ?)?{_NAME}(?:(?: ?[*/] ?| ){_NAME})*")
_MAX_UNIT = 60
_MAX_SIZE = 300

_PLAIN = str.maketrans(
    {"²": "**2", "³": "**3", "⁻": "-", "¹": "1", "℃": "degC", "℉": "degF", "·": "*", "／": "/", "每": "/"}
)
_WRITTEN = {"°C": "degC", "°F": "degF", "° C": "degC", "° F": "degF", "%": "percent"}
_CHINESE = {
    "平方公里": "km**2",
    "平方千米": "km**2",
    "平方米": "m**2",
    "立方米": "m**3",
    "公顷": "hectare",
    "摄氏度": "degC",
    "华氏度": "degF",
    "千瓦时": "kWh",
    "公里": "km",
    "千米": "km",
    "厘米": "cm",
    "毫米": "mm",
    "英里": "mile",
    "海里": "nautical_mile",
    "英尺": "foot",
    "英寸": "inch",
    "公斤": "kg",
    "千克": "kg",
    "毫升": "mL",
    "小时": "hour",
    "分钟": "minute",
    "千瓦": "kW",
    "兆瓦": "MW",
    "米": "m",
    "克": "g",
    "吨": "tonne",
    "磅": "pound",
    "升": "L",
    "秒": "s",
    "天": "day",
    "瓦": "W",
}


def convert(value: float | str, from_unit: str, to_unit: str) -> str:
    """The value in the other unit, such as `5 mile = 8.04672 kilometer`.

    Raises ToolError when a unit is unknown or the two do not measure the same.
    """
    from pint import errors

    registry = _registry()
    try:
        number = Decimal(str(value).replace(",", "").strip())
        quantity = registry.Quantity(number, _parse(registry, from_unit))
        result = quantity.to(_parse(registry, to_unit))
    except errors.UndefinedUnitError as error:
        raise ToolError(f"{error}; write units as km, mile, kg, degC, km/h, kWh or m^2") from None
    except errors.DimensionalityError as error:
        raise ToolError(f"{error}; choose two units of one kind") from None
    except errors.PintError as error:
        raise ToolError(f"{from_unit!r} cannot be converted to {to_unit!r}: {error}") from None
    except (InvalidOperation, Overflow):
        raise ToolError(f"{str(value)[:60]!r} is not a number of usual size; give a plain number") from None
    if not number.is_finite() or abs(number.adjusted()) > _MAX_SIZE:
        raise ToolError(f"{str(value)[:60]!r} is not a number of usual size; give a plain number")
    return f"{write_number(number)} {quantity.units} = {write_number(Decimal(result.magnitude))} {result.units}"


def _parse(registry: Any, text: str) -> Any:
    plain = text.strip().translate(_PLAIN)
    for written, unit in (_WRITTEN | _CHINESE).items():
        plain = plain.replace(written, unit)
    # exponents of one digit only: the library computes powers of what it parses
    if len(plain) > _MAX_UNIT or not _UNIT.fullmatch(plain):
        raise ToolError(f"{text[:60]!r} is not a unit; write one such as km, mile, kg, degC, km/h, kWh or m^2")
    return registry.parse_units(plain)


@functools.cache
def _registry() -> Any:
    import pint

    make: Any = pint.UnitRegistry
    return make(non_int_type=Decimal)


convert_tool = Tool(
    "convert",
    "Use it to bring a quantity into another unit. Takes the number and the two units, such as 8848.86, m, ft. Returns "
    "both quantities. Not for currencies, dates or plain arithmetic. A ton is the short ton of the United States; "
    "write tonne for 1,000 kg.",
    {
        "type": "object",
        "properties": {
            "value": {"type": ["number", "string"], "description": "The number, without unit."},
            "from_unit": {"type": "string", "description": "The unit it is in, such as m, km/h, degC or kWh."},
            "to_unit": {"type": "string", "description": "The unit wanted."},
        },
        "required": ["value", "from_unit", "to_unit"],
    },
    convert,
    timeout=10.0,
    categories=("math",),
)
