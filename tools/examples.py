"""The tools of well-known agent tutorials, on small packaged data, for the walk-throughs."""

from .decorator import tool
from .definition import ToolError

_WEATHER = {
    # city in English, in Chinese: sky in English, in Chinese, °C, wind in km/h, humidity in %
    ("beijing", "北京"): ("sunny", "晴", 25, 12, 40),
    ("shanghai", "上海"): ("cloudy", "多云", 28, 18, 72),
    ("guangzhou", "广州"): ("thunderstorms", "雷阵雨", 31, 9, 85),
    ("london", "伦敦"): ("light rain", "小雨", 16, 22, 81),
    ("new york", "纽约"): ("partly cloudy", "晴间多云", 22, 15, 58),
}

_MANUAL = {
    ("concurrency", "并发"): (
        "Concurrency: the recommended concurrency is 128 connections for each node. Above 256 the latency rises.",
        "并发：每个节点的推荐并发数为128，超过256时延迟上升。",
    ),
    ("timeout", "超时"): (
        "Timeouts: a request is given up after 30 s; uploads after 300 s.",
        "超时：请求在30秒后放弃，上传在300秒后放弃。",
    ),
    ("retry", "重试"): (
        "Retries: up to 3 times, after 1 s, 2 s and 4 s. A request that writes is not retried.",
        "重试：最多3次，间隔为1秒、2秒和4秒。写请求不重试。",
    ),
    ("memory", "内存"): (
        "Memory: 16 GB for each node are recommended, 8 GB are the least.",
        "内存：每个节点推荐16 GB，最低8 GB。",
    ),
}


@tool(categories=("examples",))
def get_weather(city: str) -> str:
    """Use it for the weather in a city. This is sample data of a few cities, not a forecast.

    Args:
        city: The city's name in English or Chinese, such as Beijing.

    Returns:
        Sky, temperature in °C, wind and humidity in one line. Not for history or other places.
    """
    wanted = city.strip().casefold().removesuffix("市")
    for names, (sky, sky_zh, degrees, wind, humidity) in _WEATHER.items():
        if wanted == names[1]:
            return f"{names[1]}：{sky_zh}，气温 {degrees} °C，风速 {wind} km/h，湿度 {humidity} %（示例数据）"
        if wanted == names[0]:
            name = names[0].title()
            return f"{name}: {sky}, temperature {degrees} °C, wind {wind} km/h, humidity {humidity} % (sample data)"
    known = ", ".join(names[0].title() for names in _WEATHER)
    raise ToolError(f"there is no sample weather for {city[:60]!r}; there is some for {known}")


@tool(categories=("examples",))
def read_manual(topic: str = "") -> str:
    """Use it to read the operating manual of the sample service.

    Args:
        topic: What to read about, English or Chinese, such as concurrency. The whole manual if left out.

    Returns:
        The manual's sentences on the topic. Not for other products.
    """
    chinese = any("\u4e00" <= sign <= "\u9fff" for sign in topic)
    wanted = topic.casefold()
    chosen = [texts[chinese] for names, texts in _MANUAL.items() if any(name in wanted for name in names)]
    return "\n".join(chosen or [texts[chinese] for texts in _MANUAL.values()])
