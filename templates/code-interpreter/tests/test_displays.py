"""Values in all their forms, and values that fail."""

from __future__ import annotations

import json

import pytest
from conftest import Bridge

# MIME type, value as the kernel sends it, name in the answers of E2B.
FORMS = [
    ("text/plain", "plain", "text"),
    ("text/html", "<b>html</b>", "html"),
    ("text/markdown", "*markdown*", "markdown"),
    ("image/svg+xml", "<svg/>", "svg"),
    ("image/png", "iVBORw0KGgo=", "png"),
    ("image/jpeg", "/9j/4AAQ", "jpeg"),
    ("application/pdf", "JVBERi0xLjQ=", "pdf"),
    ("text/latex", "$x$", "latex"),
    ("application/json", {"a": [1, None, "b"]}, "json"),
    ("application/javascript", "alert(1)", "javascript"),
]


def test_a_value_is_shown_in_all_its_forms(bridge: Bridge) -> None:
    bundle = {mime: value for mime, value, _ in FORMS}
    code = f"from IPython.display import display; display({bundle!r}, raw=True)"
    (shown,) = bridge.run(code).of("display")
    assert shown["data"] == bundle
    _, text = bridge.ask("POST", "/execute", {"code": code})
    answer = json.loads(text.splitlines()[0])
    assert answer == {"type": "result", "is_main_result": False} | {name: value for _, value, name in FORMS}


def test_the_last_value_has_the_forms_that_it_defines(bridge: Bridge) -> None:
    code = """
class Both:
    def __repr__(self): return "both"
    def _repr_jpeg_(self): return bytes([255, 216, 255])
    def _repr_pdf_(self): return b"%PDF-1.4"
    def _repr_latex_(self): return "$1$"
Both()
"""
    (shown,) = bridge.run(code).of("result")
    data = {mime: value.strip() for mime, value in shown["data"].items()}
    assert data == {"text/plain": "both", "image/jpeg": "/9j/", "application/pdf": "JVBERi0xLjQ=", "text/latex": "$1$"}


def test_a_form_that_fails_is_an_error_and_leaves_the_others(bridge: Bridge) -> None:
    code = """
class Half:
    def __repr__(self): return "half"
    def _repr_html_(self): raise ValueError("no html")
Half()
"""
    ran = bridge.run(code)
    assert (ran.status, ran.error["value"], ran.result) == ("error", "no html", "half")
    failing = bridge.run("class No:\n    def __repr__(self): raise ValueError('no text')\nNo()")
    assert (failing.status, failing.error["value"], failing.of("result")) == ("error", "no text", [])
    assert bridge.run("'alive'").result == "'alive'"


@pytest.mark.parametrize("fails", [False, True])
def test_a_widget_is_shown_as_its_view_and_its_messages_are_passed_over(bridge: Bridge, fails: bool) -> None:
    code = f"""
from comm import create_comm
from IPython.display import display
widget = create_comm(target_name="jupyter.widget", data={{"state": {{}}}}, metadata={{"version": "2.1.0"}})
widget.send({{"method": "update", "state": {{"value": 1}}}}, buffers=[b"x"])
view = {{"application/vnd.jupyter.widget-view+json": {{"version_major": 2, "version_minor": 0, "model_id": widget.comm_id}}}}
display(view | {{"text/plain": "IntSlider(value=1)"}}, raw=True)
if {fails}: raise RuntimeError("the widget failed")
widget.close()
"""
    ran = bridge.run(code)
    (shown,) = ran.of("display")
    assert shown["data"]["text/plain"] == "IntSlider(value=1)"
    assert shown["data"]["application/vnd.jupyter.widget-view+json"]["version_major"] == 2
    assert ran.status == ("error" if fails else "ok")
    assert [one["value"] for one in ran.of("error")] == (["the widget failed"] if fails else [])
    assert {line["type"] for line in ran.lines} <= {"start", "display", "error", "end"}
    assert bridge.run("'alive'").result == "'alive'"


def test_a_handler_of_signals_that_raises_breaks_no_display(bridge: Bridge) -> None:
    code = """
import signal
class Tick(Exception): pass
def tick(*_): raise Tick
signal.signal(signal.SIGALRM, tick)
missed = 0
for n in range(400):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0001 + n % 40 / 20_000)
        display({"text/plain": f"<{n}>"}, raw=True)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Tick:
        missed += 1
signal.setitimer(signal.ITIMER_REAL, 0)
missed
"""
    ran = bridge.run(code)
    assert ran.status == "ok"
    shown = [line["data"]["text/plain"] for line in ran.of("display")]
    assert len(shown) >= 400 - int(ran.result)
    numbers = [int(text.strip("<>")) for text in shown]
    assert numbers == sorted(set(numbers))
    assert bridge.run("'alive'").result == "'alive'"


def test_what_comes_between_the_parts_of_a_message_follows_it(bridge: Bridge) -> None:
    code = """
import gc, threading
class Last:
    def __del__(self): display("from a finalizer")
def show(name):
    for n in range(200):
        circle = [Last() if n % 50 == 0 else None]
        circle.append(circle)
        display(f"{name} {n}")
gc.set_threshold(10)
threads = [threading.Thread(target=show, args=(name,)) for name in "abc"]
for one in threads: one.start()
for one in threads: one.join()
gc.set_threshold(700)
gc.collect()
"""
    ran = bridge.run(code)
    assert ran.status == "ok"
    shown = [line["data"]["text/plain"] for line in ran.of("display")]
    for name in "abc":
        assert [one for one in shown if one.startswith(f"'{name} ")] == [f"'{name} {n}'" for n in range(200)]
    assert shown.count("'from a finalizer'") == 12
