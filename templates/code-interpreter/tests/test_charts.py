"""Charts of matplotlib as data."""

from __future__ import annotations

import datetime
from typing import Any

import matplotlib as mpl
import pytest

mpl.use("agg")

import matplotlib.pyplot as plt
from conftest import Bridge
from holt_charts import MIME, chart_of


@pytest.fixture
def axes() -> Any:
    figure, made = plt.subplots()
    yield made
    plt.close(figure)


def series(axes: Any) -> list[dict[str, Any]]:
    chart = chart_of(axes.figure)
    assert chart is not None
    return list(chart["axes"][0]["series"])


def test_a_line_has_its_points_and_names(axes: Any) -> None:
    axes.plot([1, 2, 3], [1.5, float("nan"), 4], label="a")
    axes.plot([datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)], [1, 2])
    axes.set(title="T", xlabel="X", ylabel="Y", yscale="log")
    axes.figure.suptitle("S")
    chart = chart_of(axes.figure)
    assert chart is not None and chart["title"] == "S"
    shown = chart["axes"][0]
    assert (shown["title"], shown["x_label"], shown["y_label"], shown["y_scale"]) == ("T", "X", "Y", "log")
    assert shown["series"][0] == {"type": "line", "label": "a", "x": [1, 2, 3], "y": [1.5, None, 4]}
    assert shown["series"][1]["x"] == ["2026-01-01", "2026-01-02"]


def test_bars_have_their_categories(axes: Any) -> None:
    axes.bar(["a", "b"], [3, 4], label="n")
    assert series(axes) == [{"type": "bar", "label": "n", "orientation": "vertical", "x": ["a", "b"], "y": [3, 4]}]


def test_horizontal_bars_have_their_lengths(axes: Any) -> None:
    axes.barh([10, 20], [3, 4])
    assert series(axes) == [{"type": "bar", "label": None, "orientation": "horizontal", "x": [10, 20], "y": [3, 4]}]


def test_a_scatter_has_its_points(axes: Any) -> None:
    axes.scatter([1, 2], [3, 4], label="s")
    assert series(axes) == [{"type": "scatter", "label": "s", "x": [1, 2], "y": [3, 4]}]


def test_a_pie_has_its_fractions(axes: Any) -> None:
    axes.pie([1, 3], labels=["a", "b"])
    (pie,) = series(axes)
    assert pie["labels"] == ["a", "b"]
    assert pie["fractions"] == pytest.approx([0.25, 0.75])


@pytest.mark.parametrize("orientation", ["vertical", "horizontal"])
def test_boxes_have_their_quartiles(axes: Any, orientation: str) -> None:
    axes.boxplot([[1, 2, 3, 4, 5, 100], [2, 2, 3, 4]], orientation=orientation)
    boxes = series(axes)
    assert [box["position"] for box in boxes] == pytest.approx([1, 2])
    first = boxes[0]
    assert (first["q1"], first["median"], first["q3"], first["low"], first["high"]) == (2.25, 3.5, 4.75, 1, 5)
    assert first["orientation"] == orientation


@pytest.mark.parametrize(
    "draw",
    [
        lambda axes: axes.imshow([[1, 2], [3, 4]]),
        lambda axes: axes.fill_between([1, 2], [1, 2]),
        lambda axes: axes.plot(range(10_001), range(10_001)),
        lambda axes: (axes.plot([1, 2]), axes.axhline(1)),
        lambda axes: axes.add_patch(plt.Circle((0, 0), 1)),
        lambda axes: axes.text(0, 0, "nothing"),
    ],
)
def test_what_is_not_known_has_no_data(axes: Any, draw: Any) -> None:
    draw(axes)
    assert chart_of(axes.figure) is None


def test_a_figure_comes_as_picture_and_as_data(bridge: Bridge) -> None:
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4], label='a')\nplt.show()"
    (shown,) = bridge.run(code).of("display")
    assert shown["data"]["image/png"].startswith("iVBORw0KGgo")
    assert shown["data"][MIME]["axes"][0]["series"] == [{"type": "line", "label": "a", "x": [1, 2], "y": [3, 4]}]
