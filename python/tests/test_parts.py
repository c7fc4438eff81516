"""The parts that need no service: credentials, signatures, times, answers and archives."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import io
import json
import os
import pickle
import tarfile
import threading
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path, PurePosixPath

import pytest
from holt import BuildFailed, HoltConnectionError, InvalidSignature, WebhookVerifier, models
from holt._bodies import command_body
from holt._credentials import find_credentials
from holt._io import async_parts, sync_parts
from holt._io.sync_parts import Pump, limited
from holt._model import decode, decode_item, time_text, to_wire
from holt._models.command import OutputItem
from holt._options import given, joined, mode_text, nullable, seconds
from holt._retry import FailedTry, parse_retry_after, retry_delay_secs
from holt._tree.unpack import Unpacked, is_plain_name, stays_inside, unpack_here
from holt.errors import ApiError, InvalidArchive, InvalidPath, NameTaken, Unauthenticated
from holt.models import OutputData, PolicyBody, PolicyRule, WatchMoved

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()


class TestCredentials:
    def test_given_ones_win(self, tmp_path: Path) -> None:
        found = find_credentials("http://a", "k", {"HOLT_URL": "http://b", "HOLT_API_KEY": "l"})
        assert (found.url, found.api_key) == ("http://a", "k")
        assert "k" not in repr(found).replace("Credentials", "")

    def test_then_the_environment_then_the_file(self, tmp_path: Path) -> None:
        self.write(tmp_path, {"url": "http://c", "key": "m"})
        env = {"HOLT_STATE_DIR": str(tmp_path)}
        assert find_credentials(None, None, {**env, "HOLT_URL": "http://b", "HOLT_API_KEY": "l"}).url == "http://b"
        assert find_credentials(None, None, env).api_key == "m"
        assert find_credentials(None, None, {**env, "HOLT_API_KEY": ""}).api_key == "m"

    def test_the_key_of_the_file_goes_to_no_other_address(self, tmp_path: Path) -> None:
        self.write(tmp_path, {"url": "http://c:80", "key": "m"})
        env = {"HOLT_STATE_DIR": str(tmp_path)}
        assert find_credentials("http://d", None, env).api_key is None
        assert find_credentials("http://c", None, env).api_key == "m"

    def test_without_any_the_loopback_address_is_used(self, tmp_path: Path) -> None:
        found = find_credentials(None, None, {"HOLT_STATE_DIR": str(tmp_path / "none")})
        assert (found.url, found.api_key) == ("http://127.0.0.1:4658", None)

    def test_space_around_them_is_dropped(self) -> None:
        found = find_credentials(None, None, {"HOLT_URL": " http://b\n", "HOLT_API_KEY": "l\n"})
        assert (found.url, found.api_key) == ("http://b", "l")

    @pytest.mark.parametrize("key", ["abc\ndef", "abc\x00", "clé"])
    def test_a_key_that_no_header_can_hold_is_refused_and_not_repeated(self, key: str) -> None:
        with pytest.raises(Unauthenticated) as caught:
            find_credentials("http://a", key, {})
        assert key not in str(caught.value)

    @pytest.mark.parametrize("text", ["no json", "[]", '{"url": 1}'])
    def test_a_file_that_cannot_be_used_is_an_error(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "credentials.json").write_text(text)
        with pytest.raises(Unauthenticated, match=r"credentials\.json"):
            find_credentials(None, None, {"HOLT_STATE_DIR": str(tmp_path)})

    def write(self, directory: Path, value: object) -> None:
        (directory / "credentials.json").write_text(json.dumps(value))


class TestWebhookVerifier:
    def test_a_signed_message_is_returned(self) -> None:
        body, headers = self.signed({"type": "webhook.test"})
        capitals = {name.title(): value for name, value in headers.items()}
        assert WebhookVerifier(SECRET).verify(body.decode(), capitals) == {"type": "webhook.test"}
        other = "whsec_" + base64.b64encode(b"x" * 32).decode()
        assert WebhookVerifier([other, SECRET]).verify(body, headers) == {"type": "webhook.test"}

    @pytest.mark.parametrize(
        "change", ["body", "webhook-id", "webhook-timestamp", "webhook-signature", "secret", "old", "future"]
    )
    def test_any_other_message_is_refused(self, change: str) -> None:
        body, headers = self.signed({"a": 1}, age_secs={"old": 400, "future": -400}.get(change, 0))
        verifier = WebhookVerifier(SECRET.replace("a", "b") if change == "secret" else SECRET)
        if change == "body":
            body += b" "
        elif change.startswith("webhook"):
            headers[change] = headers[change][:-1] + ("1" if headers[change][-1] != "1" else "2")
        with pytest.raises(InvalidSignature):
            verifier.verify(body, headers)

    @pytest.mark.parametrize("headers", [{}, {"webhook-id": "a", "webhook-timestamp": "x", "webhook-signature": "v1,"}])
    def test_a_message_without_its_headers_is_refused(self, headers: dict[str, str]) -> None:
        with pytest.raises(InvalidSignature):
            WebhookVerifier(SECRET).verify(b"{}", headers)

    @pytest.mark.parametrize("timestamp", ["9" * 400, "9" * 5000, "\u0663"])
    def test_an_impossible_time_is_refused(self, timestamp: str) -> None:
        body, headers = self.signed({})
        with pytest.raises(InvalidSignature):
            WebhookVerifier(SECRET).verify(body, {**headers, "webhook-timestamp": timestamp})

    @pytest.mark.parametrize("header", ["webhook-id", "webhook-signature"])
    def test_wrong_bytes_in_a_header_are_refused(self, header: str) -> None:
        body, headers = self.signed({})
        with pytest.raises(InvalidSignature):
            WebhookVerifier(SECRET).verify(body, {**headers, header: "v1,\udcff"})

    @pytest.mark.parametrize("secret", ["", "whsec_", "whsec_!"])
    def test_a_secret_without_a_key_is_refused(self, secret: str) -> None:
        with pytest.raises(InvalidSignature, match="secret"):
            WebhookVerifier(secret)

    def signed(self, message: object, age_secs: int = 0) -> tuple[bytes, dict[str, str]]:
        body, at = json.dumps(message).encode(), str(int(time.time()) - age_secs)
        digest = hmac.digest(b"k" * 32, f"ev1.{at}.".encode() + body, hashlib.sha256)
        signature = f"v1,{base64.b64encode(b'no').decode()} v1,{base64.b64encode(digest).decode()}"
        return body, {"webhook-id": "ev1", "webhook-timestamp": at, "webhook-signature": signature}


class TestAnswers:
    def test_unknown_fields_and_items_are_left_out(self) -> None:
        wire = {"allowed": True, "rule": "r", "inspection": None, "addresses": ["a"], "detail": "d"}
        assert decode(models.TestedNetwork, {**wire, "new": 1}).to_dict() == wire
        assert decode_item(OutputItem, {"type": "new", "cursor": 1}) is None
        item = decode_item(
            OutputItem, {"type": "stdout", "cursor": 1, "data": "x", "encoding": "utf-8", "at": "2026-01-02T03:04:05.678Z"}
        )
        assert isinstance(item, OutputData)
        assert item.at == datetime(2026, 1, 2, 3, 4, 5, 678_000, timezone.utc)
        assert "at=2026-01-02T03:04:05.678Z)" in repr(item)

    def test_a_field_with_the_name_of_a_keyword_has_an_underscore(self) -> None:
        moved = decode(WatchMoved, {"type": "moved", "cursor": 1, "path": "/b", "from": "/a", "directory": False})
        assert (moved.from_, moved.to_dict()["from"]) == ("/a", "/a")

    def test_what_is_sent_leaves_out_what_is_absent(self) -> None:
        body = PolicyBody(allow=[PolicyRule(host="a", ports=[1])])
        assert to_wire({"p": body, "t": timedelta(seconds=1.5), "d": Path("/a")}) == {
            "p": {"allow": [{"host": "a", "ports": [1]}]},
            "t": 1.5,
            "d": "/a",
        }
        assert given(a=None, b=False, c=0) == {"b": False, "c": 0}
        assert nullable(a=None, b=timedelta(minutes=1)) == {"a": None, "b": 60}
        for value in (object(), b"bytes", {"a": bytearray(1)}):
            with pytest.raises(TypeError, match="JSON"):
                to_wire(value)

    def test_times_and_durations_have_one_form(self) -> None:
        assert time_text(datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))) == "2026-01-01T00:00:00.000Z"
        assert [seconds(2.0), seconds(0.5), seconds(timedelta(minutes=1))] == [2, 0.5, 60]
        assert seconds(float("inf")) == float("inf")
        assert [parse_retry_after("3"), parse_retry_after("soon"), parse_retry_after(None)] == [3, None, None]
        assert parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0

    def test_a_stored_change_that_a_host_has_not_applied_is_not_sent_again(self) -> None:
        def delay(reason: str) -> float | None:
            error = ApiError("Not now.", code="unavailable", http_status=503, details={"reason": reason})
            tried = FailedTry(
                "PUT", error, tries=1, max_retries=4, keyed=False, repeatable=True, secs_left=9
            )
            return retry_delay_secs(tried)

        assert delay("host_unreachable") is not None
        assert delay("not_in_force") is None

    def test_arguments_may_be_paths(self) -> None:
        body = command_body(["python", PurePosixPath("/a/b.py"), "-v"], background=True)
        assert body == {"argv": ["python", "/a/b.py", "-v"], "background": True}

    def test_a_mode_is_octal_digits_or_a_number(self) -> None:
        assert [mode_text("0644"), mode_text(0o644), mode_text(0o7), mode_text(None)] == ["0644", "0644", "0007", None]

    def test_one_name_may_stand_for_a_list_of_it(self) -> None:
        assert [joined("runtime.*"), joined(["a", "b"]), joined([]), joined(None)] == ["runtime.*", "a,b", None, None]


class TestPump:
    """A thread that waits receives for all, or waits for the thread that receives."""

    def test_a_wait_ends_in_time_while_another_thread_receives(self) -> None:
        pump, begun, end = Pump(), threading.Event(), threading.Event()

        def receive() -> None:
            begun.set()
            end.wait(60)

        thread = threading.Thread(target=lambda: pump.until(end.is_set, receive))
        thread.start()
        begun.wait(60)
        with pytest.raises(LookupError), limited(0.01, LookupError):
            pump.until(lambda: False, lambda: None)
        end.set()
        thread.join()


class TestErrors:
    """Errors pass between processes, as those of a pool do."""

    def test_an_error_is_the_same_after_pickle(self) -> None:
        build = decode(models.BuildData, {"build_id": "b", "name": "n", "tag": "t", "steps": [], "status": "cancelled"})
        for error in [
            HoltConnectionError("lost", "gone"),
            BuildFailed(build),
            NameTaken("taken", details={"a": 1}, request_id="r", retry_after_secs=2),
        ]:
            again = pickle.loads(pickle.dumps(error))
            assert (type(again), str(again), again.args) == (type(error), str(error), error.args)
            assert vars(again) == vars(error)


class TestArchives:
    """An archive of a runtime is hostile until it is unpacked."""

    @pytest.mark.parametrize("name", ["../a", "/a", "a/../../b", "..", "a/..", "x" * 300])
    def test_a_path_outside_is_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises((InvalidPath, InvalidArchive)):
            self.unpack(tmp_path, [self.file(name)])
        assert list(tmp_path.parent.glob("a")) == []

    def test_a_file_below_a_link_is_refused(self, tmp_path: Path) -> None:
        link = tarfile.TarInfo("l")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        with pytest.raises(InvalidArchive):
            self.unpack(tmp_path, [link, self.file("l/x")])

    def test_links_that_lead_out_are_not_made(self, tmp_path: Path) -> None:
        out, within = tarfile.TarInfo("d/out"), tarfile.TarInfo("d/in")
        out.type = within.type = tarfile.SYMTYPE
        out.linkname, within.linkname = "../../x", "../f"
        result = self.unpack(tmp_path, [self.directory("d"), self.file("f"), out, within])
        assert (result.symlinks, [one.path for one in result.skipped]) == (1, ["d/out"])
        assert os.readlink(tmp_path / "d" / "in") == "../f"

    @pytest.mark.parametrize("target", ["/etc/passwd", "missing", "d"])
    def test_a_hard_link_to_what_is_no_file_of_the_archive_is_refused(self, tmp_path: Path, target: str) -> None:
        link = tarfile.TarInfo("h")
        link.type, link.linkname = tarfile.LNKTYPE, target
        with pytest.raises((InvalidArchive, InvalidPath)):
            self.unpack(tmp_path, [self.directory("d"), link])

    def test_set_id_bits_are_dropped_and_devices_left_out(self, tmp_path: Path) -> None:
        file, device = self.file("f"), tarfile.TarInfo("dev")
        file.mode, device.type = 0o6755, tarfile.CHRTYPE
        result = self.unpack(tmp_path, [file, device])
        assert os.stat(tmp_path / "f").st_mode & 0o7777 == 0o755
        assert [one.path for one in result.skipped] == ["dev"]

    @pytest.mark.parametrize(
        ("text", "time_ns"),
        [("1700000000.123", 1_700_000_000_123_000_000), ("-1.5", -1_500_000_000), ("3.", 3_000_000_000)],
    )
    def test_times_are_exact(self, tmp_path: Path, text: str, time_ns: int) -> None:
        file, link, directory = self.file("f"), tarfile.TarInfo("l"), self.directory("d")
        link.type, link.linkname = tarfile.SYMTYPE, "f"
        for one in (file, link, directory):
            one.pax_headers = {"mtime": text}
        self.unpack(tmp_path, [file, link, directory])
        assert {os.lstat(tmp_path / name).st_mtime_ns for name in "fld"} == {time_ns}

    @pytest.mark.parametrize("text", ["nan", "inf", "1e300", "9" * 30, "soon"])
    def test_an_impossible_time_is_refused(self, tmp_path: Path, text: str) -> None:
        file = self.file("f")
        file.pax_headers = {"mtime": text}
        with pytest.raises(InvalidArchive, match="time"):
            self.unpack(tmp_path, [file])

    @pytest.mark.parametrize("type_", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
    def test_a_header_that_fills_the_memory_is_refused(self, tmp_path: Path, type_: bytes) -> None:
        header = tarfile.TarInfo("h")
        header.type, header.size = type_, 2**33
        source = Endless(header.tobuf(tarfile.GNU_FORMAT))
        with pytest.raises(InvalidArchive, match="size"):
            unpack_here(source, tmp_path, lambda size: None)
        assert source.given_bytes < 2**20

    def test_an_error_of_the_listener_is_its_own(self, tmp_path: Path) -> None:
        def fail(size: int) -> None:
            raise ValueError(size)

        with pytest.raises(ValueError, match="3"):
            unpack_here(io.BytesIO(self.bytes_of([self.file("a")])), tmp_path, fail)

    @pytest.mark.parametrize("cut", [512, 1024, 1500, 2048])
    def test_an_archive_that_ends_early_is_refused(self, tmp_path: Path, cut: int) -> None:
        whole = self.bytes_of([self.file("a"), self.file("b")])
        with pytest.raises(InvalidArchive):
            unpack_here(io.BytesIO(whole[:cut]), tmp_path, lambda size: None)

    def test_a_damaged_header_is_not_the_end(self, tmp_path: Path) -> None:
        damaged = bytearray(self.bytes_of([self.file("a"), self.file("b")]))
        damaged[1024 + 150] ^= 1
        with pytest.raises(InvalidArchive):
            unpack_here(io.BytesIO(bytes(damaged)), tmp_path, lambda size: None)

    def test_a_name_that_comes_twice_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidArchive, match="twice"):
            self.unpack(tmp_path, [self.file("a"), self.file("./a")])

    def test_names_are_judged_for_each_system(self) -> None:
        assert is_plain_name("a:b", "linux")
        for name in ["a:b", "a\\b", "nul", "COM1.txt", "a.", "a "]:
            assert not is_plain_name(name, "win32")
        assert stays_inside("a/b", "../c")
        for target in ["", "/a", "../../c", "x/../../..", "a\0"]:
            assert not stays_inside("a/b", target)

    def file(self, name: str) -> tarfile.TarInfo:
        info = tarfile.TarInfo(name)
        info.size = 3
        return info

    def directory(self, name: str) -> tarfile.TarInfo:
        info = tarfile.TarInfo(name)
        info.type, info.mode = tarfile.DIRTYPE, 0o755
        return info

    def bytes_of(self, members: list[tarfile.TarInfo]) -> bytes:
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for member in members:
                tar.addfile(member, io.BytesIO(b"abc") if member.isreg() else None)
        return made.getvalue()

    def unpack(self, place: Path, members: list[tarfile.TarInfo]) -> Unpacked:
        return unpack_here(io.BytesIO(self.bytes_of(members)), place, lambda size: None)


class Endless:
    """A source that never ends, after its first bytes."""

    def __init__(self, first: bytes) -> None:
        self._first = first
        self.given_bytes = 0

    def read(self, size: int = -1, /) -> bytes:
        data, self._first = self._first[:size], self._first[size:]
        data = data or bytes(max(size, 1))
        self.given_bytes += len(data)
        return data


class TestReadChunks:
    """The pieces of a local file, which an upload sends."""

    SIZE = 2 * 2**20 + 5

    def test_the_asynchronous_client_reads_a_mebibyte_at_a_time(self, tmp_path: Path) -> None:
        async def read(start: int, size: int) -> list[bytes]:
            return [chunk async for chunk in async_parts.read_chunks(self.file(tmp_path), start, size)]

        # Each piece costs a step in a thread.
        assert [len(chunk) for chunk in asyncio.run(read(0, self.SIZE))] == [2**20, 2**20, 5]
        assert asyncio.run(read(2, 7)) == [b"23456"]

    def test_a_file_that_has_become_shorter_ends_earlier(self, tmp_path: Path) -> None:
        path = self.file(tmp_path)
        chunks = list(sync_parts.read_chunks(path, 3, self.SIZE + 100))
        assert b"".join(chunks) == path.read_bytes()[3:]

    def file(self, directory: Path) -> Path:
        path = directory / "file"
        path.write_bytes((b"0123456789" * (self.SIZE // 10 + 1))[: self.SIZE])
        return path
