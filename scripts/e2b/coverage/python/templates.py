"""Templates: each step of a builder, in builds whose sandboxes are looked into."""

import json
import os
import tempfile
import uuid
from pathlib import Path
from urllib.request import Request, urlopen
import ssl

import e2b
from e2b import BuildException, Sandbox, SandboxException
from recorder import check, finish, record, record_function, refused, the, until

unique = uuid.uuid4().hex[:8]
names: list[str] = []
for name in ("TemplateBase", "Template", "AsyncTemplate", "ReadyCmd"):
    record(getattr(e2b, name), name)
builder = type(e2b.Template().from_base_image())
record(builder, "TemplateBuilder")
for name in ("wait_for_file", "wait_for_port", "wait_for_process", "wait_for_timeout", "wait_for_url", "default_build_logger"):
    record_function(e2b, name)
trust = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])


def name_of(kind: str) -> str:
    names.append(f"coverage-py-{kind}-{unique}")
    return names[-1]


def printed(name: str, line: str) -> str:
    sandbox = Sandbox.create(name)
    try:
        return sandbox.commands.run(line).stdout
    finally:
        sandbox.kill()


def remove(name: str) -> None:
    """Removes a template, for which the SDK has no method."""
    headers = {"X-API-KEY": os.environ["E2B_API_KEY"]}
    asked = Request(f"https://api.{os.environ['E2B_DOMAIN']}/templates/{name}", method="DELETE", headers=headers)
    try:
        urlopen(asked, timeout=60, context=trust).close()
    except OSError:
        pass  # It was never made.


for T in (e2b.Template, e2b.AsyncTemplate):
    K = T.__name__

    async def built(kind, template, line, **options):
        name = name_of(f"{kind}-{K.lower()}")
        await the(T.build(template, name, **options))
        return printed(name, line)

    async def steps():
        with tempfile.TemporaryDirectory() as context:
            for path, text in (("app/a.txt", "a"), ("app/sub/b.py", "b"), ("one.txt", "one"), ("two.txt", "two")):
                Path(context, path).parent.mkdir(parents=True, exist_ok=True)
                Path(context, path).write_text(text)
            template = (
                T(file_context_path=context)
                .skip_cache()
                .from_base_image()
                .copy("app", "/srv/app", user="root", mode=0o755)
                .copy_items([{"src": "one.txt", "dest": "items/"}, {"src": ["two.txt"], "dest": "/srv/"}])
                .make_dir(["made/a", "made/b"], mode=0o700)
                .make_symlink("/srv/two.txt", "link")
                .rename("items/one.txt", "items/renamed.txt")
                .remove("made/b", recursive=True, force=True)
                .set_envs({"GREETING": "hello"})
                .set_user("root")
                .run_cmd(
                    [
                        "cd /srv && git init -q -b trunk source && cd source && "
                        "git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m first",
                        "chmod -R a+rX /srv/source",
                    ]
                )
                .set_user("user")
                .git_clone("file:///srv/source", "cloned", branch="trunk", depth=1)
                .skip_cache()
                .set_workdir("/home/user/work")
                .run_cmd('echo "$GREETING in $PWD as $(id -un)" >said')
            )
            logs = []
            write = e2b.default_build_logger(min_level="error")

            def log(entry):
                write(entry)
                logs.append(str(entry))

            line = (
                'cat said; echo $GREETING; cd ~; stat -c "%U %a" /srv/app/sub/b.py made/a; cat items/renamed.txt link; '
                "ls made; git -C cloned log --format=%s"
            )
            seen = await built("steps", template, line, on_build_logs=log, cpu_count=1, memory_mb=512)
            wanted = "hello in /home/user/work as user\nhello\nroot 755\nuser 700\nonetwoa\nfirst\n"
            assert seen == wanted, seen
            assert any("git clone" in entry for entry in logs), logs

    builders = (
        "copy copy_items make_dir make_symlink rename remove set_envs set_user set_workdir run_cmd git_clone skip_cache"
    )
    check(
        "the steps of a builder do what they say",
        steps,
        works=f"{K}.build TemplateBase.skip_cache TemplateBase.from_base_image default_build_logger "
        + " ".join(f"TemplateBuilder.{one}" for one in builders.split()),
    )

    async def tags():
        name = name_of(f"tags-{K.lower()}")
        assert not await the(T.exists(name))
        info = await the(T.build(T().from_base_image().run_cmd("echo one >said"), f"{name}:v1", tags=["stable"]))
        assert await the(T.exists(name)) and await the(T.alias_exists(name))
        assert (await the(T.assign_tags(f"{name}:v1", ["production"]))).build_id == info.build_id
        found = sorted(one.tag for one in await the(T.get_tags(name)))
        assert found == ["production", "stable", "v1"], found
        assert printed(f"{name}:production", "cat said") == "one\n"
        await the(T.remove_tags(name, "production"))
        await refused(lambda: Sandbox.create(f"{name}:production"), SandboxException, "404")
        begun = await the(T.build_in_background(T().from_base_image(), name_of(f"begun-{K.lower()}")))

        async def is_ready():
            return (await the(T.get_build_status(begun, logs_offset=0))).status == "ready"

        await until(is_ready, 600)

    check(
        "names and tags of templates are found and changed",
        tags,
        works=f"{K}.exists {K}.alias_exists {K}.assign_tags {K}.get_tags {K}.remove_tags {K}.build "
        f"{K}.build_in_background {K}.get_build_status",
    )

T, K = e2b.Template, "Template"


async def installs():
    # The indexes of packages may be out of reach: programs in the place of the tools say how they are called.
    say = (
        "at=$(command -v {0} || echo /usr/local/bin/{0}); "
        r"""printf '#!/bin/sh\necho "{0} as $(id -un): $*" >>/srv/called\n' >$at; chmod 755 $at"""
    )
    lines = [say.format(tool) for tool in ("pip", "npm", "bun", "apt-get")]
    template = (
        T()
        .from_template("base")
        .run_cmd([*lines, "touch /srv/called; chmod 666 /srv/called"], user="root")
        .pip_install(["six"])
        .npm_install(["left"], g=True)
        .bun_install(["left"], dev=True)
        .apt_install(["some", "more"], no_install_recommends=True)
    )
    called = (await built("installs", template, "cat /srv/called")).splitlines()
    wanted = ["pip as root: install six", "npm as root: install -g left", "bun as user: install --dev left"]
    assert called[:3] == wanted and called[3] == "apt-get as root: update", called
    assert called[4].startswith("apt-get as root: install -y --no-install-recommends") and len(called) == 5, called


check(
    "a package is installed by each tool",
    installs,
    works="TemplateBase.from_template TemplateBuilder.pip_install TemplateBuilder.npm_install "
    "TemplateBuilder.bun_install TemplateBuilder.apt_install",
)


async def starts():
    ready = (
        e2b.wait_for_port(8000),
        e2b.wait_for_url("http://127.0.0.1:8000/index.html"),
        e2b.wait_for_process("python3"),
        e2b.wait_for_file("/home/user/index.html"),
        e2b.wait_for_timeout(1000),
    )
    started = (
        T()
        .from_base_image()
        .run_cmd("echo served >index.html")
        .set_start_cmd("python3 -m http.server 8000", " && ".join(one.get_cmd() for one in ready))
    )
    assert await built("started", started, "curl -s 127.0.0.1:8000/index.html") == "served\n"
    made = T().from_base_image().run_cmd("touch made").set_ready_cmd(e2b.wait_for_file("/home/user/made"))
    assert await built("ready", made, "ls") == "made\n"


check(
    "a server runs when a sandbox of its template starts",
    starts,
    works="TemplateBuilder.set_start_cmd TemplateBuilder.set_ready_cmd ReadyCmd.get_cmd wait_for_file wait_for_port "
    "wait_for_process wait_for_timeout wait_for_url",
)

images = {
    "debian": "from_debian_image", "ubuntu": "from_ubuntu_image", "fedora": "from_fedora_image",
    "alpine": "from_alpine_image", "archlinux": "from_arch_image", "python": "from_python_image",
    "node": "from_node_image", "bun": "from_bun_image",
}


async def begins():
    builds = []
    for image, method in images.items():
        template = getattr(T(), method)("coverage").run_cmd("echo $FROM_IMAGE >said")
        builds.append((image, T.build_in_background(template, name_of(image))))
    for image, info in builds:
        await until(lambda: T.get_build_status(info).status not in ("building", "waiting"), 600)
        assert T.get_build_status(info).status == "ready", (image, T.get_build_status(info))
        assert printed(info.name, "cat said").strip().endswith(image)


check("a template begins with each image", begins, works=" ".join(f"TemplateBase.{one}" for one in images.values()))


async def logins():
    image = os.environ["COVERAGE_PRIVATE_IMAGE"]
    username, password = os.environ["COVERAGE_LOGIN"].split(":")
    template = T().from_image(image, username=username, password=password).run_cmd("echo $FROM_IMAGE >said")
    assert await built("login", template, "cat said") == "private\n"
    with tempfile.TemporaryDirectory() as context:
        Path(context, "key.json").write_text(os.environ["COVERAGE_GOOGLE_KEY"])
        google = T(file_context_path=context).from_gcp_registry(image, service_account_json="key.json")
        assert await built("google", google.run_cmd("echo $FROM_IMAGE >said"), "cat said") == "private\n"
    wrong = T().from_image(image, username=username, password="wrong")
    await refused(lambda: built("refused", wrong, "true"), BuildException)


check("an image may need a login", logins, works="TemplateBase.from_image TemplateBase.from_gcp_registry")


async def amazon():
    template = T().from_aws_registry("1.dkr.ecr.example.com/a", access_key_id="a", secret_access_key="b", region="c")
    await refused(lambda: built("aws", template, "true"), Exception, "400")


check(
    "a login of AWS is refused",
    amazon,
    absent={"TemplateBase.from_aws_registry": "a build with a login of AWS is refused (400)"},
)


async def dockerfiles():
    dockerfile = 'FROM debian:coverage\nENV A=b\nWORKDIR /srv/work\nRUN echo "$A in $PWD" >said\n'
    template = T().from_dockerfile(dockerfile)
    assert await built("dockerfile", template, "cat /srv/work/said") == "b in /srv/work\n"
    again = T().from_dockerfile(T.to_dockerfile(template))
    assert await built("again", again, "cat /srv/work/said") == "b in /srv/work\n"
    assert json.loads(T.to_json(template))["fromImage"] == "debian:coverage"


check(
    "a Dockerfile becomes a template, and a template a Dockerfile",
    dockerfiles,
    works="TemplateBase.from_dockerfile TemplateBase.to_dockerfile TemplateBase.to_json",
)


async def others():
    await refused(lambda: built("mcp", T().from_template("mcp-gateway").add_mcp_server("exa"), "true"), Exception, "404")
    for name in ("mcp-gateway", "devcontainer"):
        line = (
            rf"""printf '#!/bin/sh\necho "$*" >>/srv/called\n' >/usr/local/bin/{name}; """
            f"chmod 755 /usr/local/bin/{name}; touch /devcontainer.up"
        )
        names.append(name)
        T.build(T().from_base_image().run_cmd(line, user="root"), name)
    mcp = T().from_template("mcp-gateway").add_mcp_server(["exa", "time"])
    assert await built("mcp", mcp, "cat /srv/called") == "pull exa time\n"
    inside = T().from_template("devcontainer").beta_dev_container_prebuild("/srv").beta_set_dev_container_start("/srv")
    called = await built("dev", inside, "cat /srv/called")
    assert "build --workspace-folder /srv\nup --workspace-folder /srv\n" in called, called


own = "Holt brings no template `{}`; on one of your own with this name the step runs"
check(
    "steps for templates that are not here run on one of that name",
    others,
    differs={
        "TemplateBuilder.add_mcp_server": own.format("mcp-gateway"),
        "TemplateBuilder.beta_dev_container_prebuild TemplateBuilder.beta_set_dev_container_start": own.format(
            "devcontainer"
        ),
    },
)

for name in names:
    remove(name)
finish()
