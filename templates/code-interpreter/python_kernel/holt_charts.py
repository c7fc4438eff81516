"""
Charts of matplotlib as data, in the MIME type `application/vnd.holt.chart+json`.

A figure is `{"title", "axes": [{"title", "x_label", "y_label", "x_scale", "y_scale", "series":
[...]}]}`. A series has a `type` and a `label`, and further:

* `line` and `scatter`: `x` and `y`, of equal length.
* `bar`: `x` (categories or positions), `y` (lengths) and `orientation`.
* `pie`: `labels` and `fractions` of the circle.
* `box`: `position`, `orientation`, `q1`, `median`, `q3`, `low` and `high`, the ends of the whiskers.

A figure with other marks, or with more than 10,000 points, has no such value: an incomplete chart
would be a wrong one.
"""

import math
import sys
from typing import Any

MIME = "application/vnd.holt.chart+json"
_MAX_POINTS = 10_000


class _NotAsData(Exception):
    """The figure has something that this module does not know."""


def register(shell: Any) -> None:
    """Adds the type to what figures are shown as."""
    from IPython.core.formatters import BaseFormatter
    from traitlets import ObjectName, Unicode

    class ChartFormatter(BaseFormatter):
        format_type = Unicode(MIME)
        print_method = ObjectName("_repr_holt_chart_")
        _return_type = dict

        def __call__(self, value: Any) -> Any:
            # A registration of the type would be lost: matplotlib_inline removes those of others.
            module = sys.modules.get("matplotlib.figure")
            return chart_of(value) if module is not None and isinstance(value, module.Figure) else None

    shell.display_formatter.formatters[MIME] = ChartFormatter(parent=shell.display_formatter)


def chart_of(figure: Any) -> dict[str, Any] | None:
    """Returns a figure as data, or null. It never raises, because the picture has to be shown."""
    try:
        axes = [_axes(one) for one in figure.axes if one.get_label() != "<colorbar>"]
        series = [one for each in axes for one in each["series"]]
        points = sum(len(one.get("x", ())) for one in series)
        if not series or points > _MAX_POINTS:
            return None
        title = figure.get_suptitle() if hasattr(figure, "get_suptitle") else ""
        return {"title": title or None, "axes": axes}
    except Exception:  # An artist of the user can be anything.
        return None


def _axes(axes: Any) -> dict[str, Any]:
    if axes.images:
        raise _NotAsData
    return {
        "title": axes.get_title() or None,
        "x_label": axes.get_xlabel() or None,
        "y_label": axes.get_ylabel() or None,
        "x_scale": axes.get_xscale(),
        "y_scale": axes.get_yscale(),
        "series": [*_bars(axes), *_pies(axes), *_lines(axes), *_scatters(axes)],
    }


def _lines(axes: Any) -> list[dict[str, Any]]:
    plain = [line for line in axes.get_lines() if line.get_visible()]
    if any(line.get_transform() != axes.transData for line in plain):
        raise _NotAsData  # It is at a place of the axes, as `axhline` is, and not at values.
    boxes = _boxes(plain)
    if boxes is not None:
        return boxes
    return [
        {"type": "line", "label": _label(line), "x": _values(line.get_xdata()), "y": _values(line.get_ydata())}
        for line in plain
    ]


def _boxes(lines: list[Any]) -> list[dict[str, Any]] | None:
    """
    Returns the boxes that `boxplot` draws with lines, or null if there are none. Each has a closed
    rectangle, a median across it and two whiskers from its ends.
    """
    marks = [(_values(line.get_xdata(orig=False)), _values(line.get_ydata(orig=False))) for line in lines]
    rectangles = [mark for mark in marks if len(mark[0]) == 5 and mark[0][0] == mark[0][4] and mark[1][0] == mark[1][4]]
    if not rectangles or any(not line.get_label().startswith("_") for line in lines):
        return None
    return [_box(xs, ys, marks) for xs, ys in rectangles]


def _box(xs: list[Any], ys: list[Any], marks: list[tuple[list[Any], list[Any]]]) -> dict[str, Any]:
    pairs = [mark for mark in marks if len(mark[0]) == 2]
    for orientation, across, along, swap in (("vertical", xs, ys, False), ("horizontal", ys, xs, True)):
        low, high, q1, q3 = min(across), max(across), min(along), max(along)
        middle = (low + high) / 2
        turned = [(y, x) if swap else (x, y) for x, y in pairs]
        medians = [b[0] for a, b in turned if sorted(a) == [low, high] and b[0] == b[1] and q1 <= b[0] <= q3]
        whiskers = [b for a, b in turned if a[0] == a[1] and math.isclose(a[0], middle)]
        lows = [min(b) for b in whiskers if math.isclose(max(b), q1)]
        highs = [max(b) for b in whiskers if math.isclose(min(b), q3)]
        if medians and lows and highs:
            facts = {"q1": q1, "median": medians[0], "q3": q3, "low": lows[0], "high": highs[-1]}
            return {"type": "box", "label": None, "position": middle, "orientation": orientation, **facts}
    raise _NotAsData


def _scatters(axes: Any) -> list[dict[str, Any]]:
    found = []
    for collection in axes.collections:
        if type(collection).__name__ != "PathCollection":
            raise _NotAsData
        offsets = collection.get_offsets()
        xs, ys = _values(offsets[:, 0]), _values(offsets[:, 1])
        found.append({"type": "scatter", "label": _label(collection), "x": xs, "y": ys})
    return found


def _bars(axes: Any) -> list[dict[str, Any]]:
    found = []
    for container in axes.containers:
        if type(container).__name__ != "BarContainer":
            raise _NotAsData
        vertical = container.orientation != "horizontal"
        ticks = _ticks(axes.xaxis if vertical else axes.yaxis)
        ends = [_centre_and_length(patch, vertical) for patch in container.patches]
        found.append(
            {
                "type": "bar",
                "label": _label(container),
                "orientation": "vertical" if vertical else "horizontal",
                "x": [ticks.get(round(centre, 6), centre) for centre, _ in ends],
                "y": [length for _, length in ends],
            }
        )
    return found


def _centre_and_length(patch: Any, vertical: bool) -> tuple[float, float]:
    if vertical:
        return float(patch.get_x() + patch.get_width() / 2), float(patch.get_height())
    return float(patch.get_y() + patch.get_height() / 2), float(patch.get_width())


def _ticks(axis: Any) -> dict[float, str]:
    """Returns the categories of an axis by their positions."""
    units = getattr(axis, "units", None)
    mapping = getattr(units, "_mapping", None)
    return {} if mapping is None else {round(float(position), 6): str(name) for name, position in mapping.items()}


def _pies(axes: Any) -> list[dict[str, Any]]:
    of_bars = {id(patch) for container in axes.containers for patch in getattr(container, "patches", ())}
    patches = [patch for patch in axes.patches if id(patch) not in of_bars]
    if not patches:
        return []
    if any(type(patch).__name__ != "Wedge" for patch in patches):
        raise _NotAsData
    return [
        {
            "type": "pie",
            "label": None,
            "labels": [_label(wedge) for wedge in patches],
            "fractions": [float(wedge.theta2 - wedge.theta1) / 360 for wedge in patches],
        }
    ]


def _label(artist: Any) -> str | None:
    """Returns the label that the user gave. Labels of matplotlib begin with an underscore."""
    label = str(artist.get_label())
    return None if label.startswith("_") else label


def _values(values: Any) -> list[Any]:
    return [_value(value) for value in values]


def _value(value: Any) -> Any:
    """Returns a number, or text for dates and categories. Masked and infinite values are null."""
    if isinstance(value, str):
        return value
    if hasattr(value, "isoformat"):
        return value.isoformat()
    numpy = sys.modules["numpy"]
    if isinstance(value, numpy.datetime64):
        return str(value)
    number = float(value) if value is not numpy.ma.masked else math.nan
    if not math.isfinite(number):
        return None
    return int(number) if isinstance(value, int | numpy.integer) else number
