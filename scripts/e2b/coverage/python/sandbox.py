"""The life of sandboxes: create, connect, lists, time, pause, snapshots, forks, addresses."""

import os
import ssl
import uuid
from datetime import datetime, timedelta, timezone
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import e2b
import httpx
from e2b import NotFoundException, SandboxException, SandboxNotFoundException, SandboxQuery, SandboxState
from recorder import check, finish, kinds, loop, record, record_function, refused, the, until

for name in (
    "Sandbox AsyncSandbox SandboxPaginator AsyncSandboxPaginator SnapshotPaginator AsyncSnapshotPaginator "
    "ConnectionConfig"
).split():
    record(getattr(e2b, name), name)
record(e2b.ApiClient.__base__, "AuthenticatedClient")
record_function(e2b, "get_signature")
domain = os.environ["E2B_DOMAIN"]
trust = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])


def fetch(url: str, headers: dict[str, str] | None = None, body: bytes | None = None) -> tuple[int, str]:
    """Asks for an address, and returns the status and the text."""
    try:
        with urlopen(Request(url, data=body, headers=headers or {}), timeout=60, context=trust) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def near(when: datetime, seconds: float) -> bool:
    return abs((when - datetime.now(timezone.utc)).total_seconds() - seconds) < 60


async def all_of(pages) -> list:
    found = []
    while pages.has_next:
        found += await the(pages.next_items())
    return found


for kind in kinds:
    S = kind.__name__
    P = "Async" if S.startswith("Async") else ""
    metadata = {"a b": "c&d", "run": str(uuid.uuid4())}
    sandbox = loop.run_until_complete(the(kind.create("base", metadata=metadata, envs={"A": "b c"}, timeout=600)))
    sandbox_id = sandbox.sandbox_id

    async def creates():
        assert (await the(sandbox.commands.run('echo "$A"'))).stdout == "b c\n"
        info = await the(sandbox.get_info())
        assert info.metadata == metadata and info.name == "base-small", info
        assert info.state == SandboxState.RUNNING and near(info.end_at, 600), info
        assert (await the(kind.get_info(sandbox_id))).sandbox_id == sandbox_id
        short = await the(kind.create(timeout=3, secure=True))
        assert await the(short.is_running())
        await until(lambda: gone(short))
        await refused(lambda: kind.create("no-such-template"), SandboxException, "no-such-template")

    async def gone(short):
        return not await the(short.is_running())

    check("a create makes what it was asked for", creates, works=f"{S}.create {S}.get_info {S}.is_running")

    async def cannot():
        rules = {"example.com": [{"transform": {"headers": {"A": "b"}}}]}
        for options, status in (
            ({"iam": {"tokens": {"a": {"audience": "x", "token_type": "JWT-SVID"}}}}, "400"),
            ({"volume_mounts": {"/data": "volume"}}, "400"),
            ({"network": {"rules": rules}}, "400"),
            ({"network": {"egress_proxy": {"address": "198.51.100.1:1080"}}}, "400"),
            ({"mcp": {"exa": {"apiKey": "x"}}}, "404"),
        ):
            await refused(lambda: kind.create(**options), SandboxException, status)
        await refused(
            lambda: sandbox.update_network({"egress_proxy": {"address": "198.51.100.1:1080"}}), SandboxException, "400"
        )
        await refused(lambda: sandbox.update_network({"rules": rules}), SandboxException, "400")

    check(
        "what a sandbox cannot have is refused",
        cannot,
        differs={
            f"{S}.create": "`iam`, `volume_mounts`, `network.rules`, `network.egress_proxy` and `network.https_ports` "
            "are refused (400); `mcp` needs a template `mcp-gateway` of your own (404)",
            f"{S}.update_network": "`rules` and `egress_proxy` are refused (400)",
        },
    )

    async def lists():
        ids = [one.sandbox_id for one in await all_of(kind.list(query=SandboxQuery(metadata=metadata)))]
        assert ids == [sandbox_id], ids
        paused = SandboxQuery(metadata=metadata, state=[SandboxState.PAUSED])
        assert await all_of(kind.list(query=paused)) == []
        other = await the(kind.create(metadata={"run": metadata["run"]}))
        both = SandboxQuery(metadata={"run": metadata["run"]})
        newest = [one.sandbox_id for one in await all_of(kind.list(query=both, limit=1))]
        assert newest == [other.sandbox_id, sandbox_id], newest
        assert await the(other.kill())

    check("lists have the filters of their query", lists, works=f"{S}.list {P}SandboxPaginator.next_items {S}.kill")

    async def connects():
        again = await the(kind.connect(sandbox_id, timeout=900))
        assert near((await the(again.get_info())).end_at, 900)
        assert (await the(again.connect(timeout=60))).sandbox_id == sandbox_id
        assert near((await the(again.get_info())).end_at, 900)
        await the(sandbox.set_timeout(1200))
        assert near((await the(sandbox.get_info())).end_at, 1200)
        await the(kind.set_timeout(sandbox_id, 600))
        assert near((await the(sandbox.get_info())).end_at, 600)
        await refused(lambda: kind.connect("rt00000000000000000000"), SandboxNotFoundException)

    check("a connect finds a sandbox, and its deadline moves", connects, works=f"{S}.connect {S}.set_timeout")

    async def pauses():
        made = await the(kind.create())
        pid = (await the(made.commands.run("sleep 1000", background=True))).pid
        assert [await the(made.pause()), await the(made.pause())] == [True, False]
        assert not await the(made.is_running())
        again = await the(kind.connect(made.sandbox_id))
        assert pid in [one.pid for one in await the(again.commands.list())]
        assert await the(kind.beta_pause(made.sandbox_id))
        assert (await the(kind.get_info(made.sandbox_id))).state == SandboxState.PAUSED
        assert await the(made.kill())

    check("a pause keeps programs and files", pauses, works=f"{S}.pause {S}.beta_pause {S}.connect")

    async def reboots():
        made = await the(kind.create())
        await the(made.files.write("kept", "over a boot"))
        for pause in (
            lambda: made.pause(keep_memory=False),
            lambda: made.pause(mode="filesystem"),
            lambda: made.beta_pause(mode="filesystem"),
            lambda: made.pause(),
        ):
            pid = (await the(made.commands.run("sleep 1000", background=True))).pid
            await the(pause())
            await the(made.connect(on_resume="reboot"))
            assert pid not in [one.pid for one in await the(made.commands.list())]
            assert await the(made.files.read("kept")) == "over a boot"
        assert await the(made.kill())

    check(
        "a pause of the files alone and a reboot keep the files",
        reboots,
        works=f"{S}.pause {S}.beta_pause {S}.connect",
    )

    async def snapshots():
        await the(sandbox.files.write("state", "of the snapshot"))
        snapshot = await the(sandbox.create_snapshot(name=f"kept-{metadata['run']}"))
        assert any("kept-" in name for name in snapshot.names), snapshot
        other = await the(kind.create(snapshot.snapshot_id))
        assert await the(other.files.read("state")) == "of the snapshot"
        await the(other.kill())
        files_alone = await the(sandbox.create_snapshot(mode="filesystem"))
        other = await the(kind.create(files_alone.snapshot_id))
        assert await the(other.files.read("state")) == "of the snapshot"
        await the(other.kill())
        assert await the(kind.delete_snapshot(files_alone.snapshot_id))
        for pages in (sandbox.list_snapshots(), kind.list_snapshots(sandbox_id=sandbox_id)):
            assert [one.snapshot_id for one in await all_of(pages)] == [snapshot.snapshot_id]
        assert await the(kind.delete_snapshot(snapshot.snapshot_id))
        assert not await the(kind.delete_snapshot(snapshot.snapshot_id))

    check(
        "a snapshot is a template until it is deleted",
        snapshots,
        works=f"{S}.create_snapshot {S}.list_snapshots {P}SnapshotPaginator.next_items {S}.delete_snapshot",
    )

    async def forks():
        await the(sandbox.files.write("common", "x"))
        made = [*await the(sandbox.fork(count=2, timeout=120)), *await the(kind.fork(sandbox_id))]
        assert len(made) == 3
        for fork in made:
            assert await the(fork.files.read("common")) == "x" and fork.sandbox_id != sandbox_id
            await the(fork.kill())

    check("forks have the files of their source", forks, works=f"{S}.fork")

    async def metrics():
        last = (await the(sandbox.get_metrics()))[-1]
        assert last.cpu_count >= 1 and 0 < last.mem_used <= last.mem_total and last.disk_used <= last.disk_total, last
        start = datetime.now(timezone.utc) - timedelta(hours=1)
        assert await the(kind.get_metrics(sandbox_id, start=start))

    check("metrics have the use of now", metrics, works=f"{S}.get_metrics")

    async def networks():
        assert (await the(sandbox.get_info())).allow_internet_access is False
        await the(sandbox.update_network({"allow_internet_access": True}))
        assert (await the(sandbox.get_info())).allow_internet_access is True
        await the(sandbox.update_network({"deny_out": ["203.0.113.0/24"]}))
        assert (await the(sandbox.get_info())).network["deny_out"] == ["203.0.113.0/24"]
        await the(kind.update_network(sandbox_id, {"allow_internet_access": False}))
        assert (await the(sandbox.get_info())).allow_internet_access is False

    check("the network of a running sandbox changes", networks, works=f"{S}.update_network")

    async def addresses():
        await the(sandbox.commands.run("echo served >index.html && python3 -m http.server 3000", background=True))
        host = f"https://{sandbox.get_host(3000)}/index.html"
        await until(lambda: fetch(host)[0] == 200)
        assert fetch(host) == (200, "served\n")
        await the(sandbox.files.write("signed.txt", "secret"))
        assert fetch(sandbox.download_url("signed.txt", use_signature_expiration=60)) == (200, "secret")
        assert fetch(sandbox.download_url("signed.txt", use_signature_expiration=-5))[0] == 401
        body = b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\nnew\r\n--b--\r\n'
        headers = {"Content-Type": "multipart/form-data; boundary=b"}
        assert fetch(sandbox.upload_url("signed.txt"), headers, body)[0] == 200
        assert await the(sandbox.files.read("signed.txt")) == "new"

    check("addresses of ports and files work", addresses, works=f"{S}.get_host {S}.download_url {S}.upload_url")

    async def gateway():
        assert sandbox.get_mcp_url() == f"https://50005-{sandbox_id}.{domain}/mcp"
        await refused(lambda: sandbox.get_mcp_token(), NotFoundException)
        await the(sandbox.files.write("/etc/mcp-gateway/.token", "the token", user="root"))
        assert await the(sandbox.get_mcp_token()) == "the token"

    check(
        "the MCP gateway of a template of your own has its address and token",
        gateway,
        differs={
            f"{S}.get_mcp_url {S}.get_mcp_token": "no template `mcp-gateway` comes with Holt; "
            "with one of your own, the method does what it does at E2B"
        },
    )

    async def kills():
        assert [await the(sandbox.kill()), await the(kind.kill(sandbox_id))] == [True, False]
        assert not await the(sandbox.is_running())

    if kind is e2b.AsyncSandbox:
        check("a kill ends a sandbox, once", kills, works=f"{S}.kill {S}.is_running")
        break

    async def connections():
        e2b.ConnectionConfig.set_integration("coverage/1")
        config = e2b.ConnectionConfig()
        e2b.ConnectionConfig.set_integration(None)
        url = config.get_sandbox_url(sandbox_id, domain)
        assert url == config.get_sandbox_direct_url(sandbox_id, domain)
        assert url == f"https://{config.get_host(sandbox_id, domain, 49983)}"
        assert config.get_request_timeout(7.0) == 7.0
        assert e2b.Sandbox.get_info(sandbox_id, **config.get_api_params()).sandbox_id == sandbox_id
        await the(sandbox.files.write("by-hand.txt", "x"))
        signed = e2b.get_signature("by-hand.txt", "read", None, sandbox._envd_access_token, 30)
        query = f"path=by-hand.txt&signature={signed['signature'].replace('+', '%2B')}"
        assert fetch(f"{url}/files?{query}&signature_expiration={signed['expiration']}") == (200, "x")

    check(
        "a connection has its addresses",
        connections,
        works="ConnectionConfig.set_integration ConnectionConfig.get_sandbox_url ConnectionConfig.get_sandbox_direct_url "
        "ConnectionConfig.get_host ConnectionConfig.get_request_timeout ConnectionConfig.get_api_params get_signature",
    )

    async def requests():
        path = f"/sandboxes/{sandbox_id}"
        # A client that is made with a configuration cannot be copied by these methods, at E2B either.
        plain = e2b.ApiClient.__base__
        key = {"token": os.environ["E2B_API_KEY"], "prefix": "", "auth_header_name": "X-API-KEY"}
        client = plain(base_url=f"https://api.{domain}", verify_ssl=trust, **key)
        client = client.with_headers({"X-Test": "1"}).with_cookies({"a": "b"}).with_timeout(httpx.Timeout(20))
        assert client.get_httpx_client().get(path).json()["sandboxID"] == sandbox_id
        assert (await client.get_async_httpx_client().get(path)).json()["sandboxID"] == sandbox_id
        refusing = {"X-API-KEY": "none"}
        url = f"https://api.{domain}"
        client.set_httpx_client(httpx.Client(base_url=url, headers=refusing, verify=trust))
        assert client.get_httpx_client().get(path).status_code == 401
        client.set_async_httpx_client(httpx.AsyncClient(base_url=url, headers=refusing, verify=trust))
        assert (await client.get_async_httpx_client().get(path)).status_code == 401

    check(
        "the client of the interface makes requests",
        requests,
        works=" ".join(
            f"AuthenticatedClient.{one}"
            for one in "with_headers with_cookies with_timeout get_httpx_client get_async_httpx_client "
            "set_httpx_client set_async_httpx_client".split()
        ),
    )
    check("a kill ends a sandbox, once", kills, works=f"{S}.kill {S}.is_running")

finish()
