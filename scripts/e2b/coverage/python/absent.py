"""The calls that this service does not have. Each says so, and none answers success."""

import os

import e2b
from e2b import SandboxException
from recorder import check, finish, kinds, record, refused, the

no_volumes = "volumes are not part of this service (501)"
no_secrets = "secrets are not part of this service (501)"

record(e2b.VolumeConnectionConfig, "VolumeConnectionConfig")

for kind in kinds:
    A = "Async" if kind is e2b.AsyncSandbox else ""
    volumes, secrets = (getattr(e2b, f"{A}{name}") for name in ("Volume", "Secret"))
    for name in ("Volume", "Secret", "SecretPaginator"):
        record(getattr(e2b, f"{A}{name}"), f"{A}{name}")

    async def no(*calls):
        for call in calls:
            await refused(call, Exception, "501")

    async def without_volumes():
        config = e2b.VolumeConnectionConfig(token="token")
        assert config.get_request_timeout(7.0) == 7.0
        config.get_api_params()
        volume = volumes(volume_id="v", name="v", token="token", domain=os.environ["E2B_DOMAIN"])
        await no(
            lambda: volumes.create("v"),
            lambda: volumes.connect("v"),
            lambda: volumes.get_info("v"),
            lambda: volumes.list(),
            lambda: volumes.destroy("v"),
            lambda: volume.list("/"),
            lambda: volume.make_dir("/d"),
            lambda: volume.get_info("/f"),
            lambda: volume.exists("/f"),
            lambda: volume.update_metadata("/f", mode=0o600),
            lambda: volume.read_file("/f"),
            lambda: volume.write_file("/f", "x"),
            lambda: volume.remove("/f"),
        )

    names = "create connect get_info list destroy make_dir exists update_metadata read_file write_file remove"
    more = "" if A else " VolumeConnectionConfig.get_api_params VolumeConnectionConfig.get_request_timeout"
    methods = " ".join(f"{A}Volume.{one}" for one in names.split())
    check("volumes are refused", without_volumes, absent={methods + more: no_volumes})

    async def without_secrets():
        await no(
            lambda: secrets.create("S", "x"),
            lambda: secrets.update("S", "x"),
            lambda: secrets.get_info("S"),
            lambda: secrets.list().next_items(),
            lambda: secrets.exists("S"),
            lambda: secrets.destroy("S"),
        )

    names = "create update get_info list exists destroy"
    methods = " ".join(f"{A}Secret.{one}" for one in names.split())
    check("secrets are refused", without_secrets, absent={f"{methods} {A}SecretPaginator.next_items": no_secrets})

    async def without_values():
        headers = {"Authorization": f"Bearer {secrets.fill('S')}"}
        rules = {"example.com": [{"transform": {"headers": headers}}]}
        await refused(lambda: kind.create(network={"rules": rules}), SandboxException, "400")
        aws = secrets.iam_token(audience="sts.example.com", token_type="JWT-SVID")
        await refused(lambda: kind.create(iam={"tokens": {"aws": aws}}), SandboxException, "400")

    check(
        "a secret in a header is refused, and so is an identity",
        without_values,
        absent={
            f"{A}Secret.fill": "a create or update of the network with `rules` is refused (400)",
            f"{A}Secret.iam_token": "a create with `iam` is refused (400)",
        },
    )

finish()
