"""Tests of the parts of a project: policies, secrets, keys, events, webhooks and the rest."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

import pytest
from holt import AsyncHolt, HoltError
from holt.errors import Forbidden, PreconditionFailed, SecretNotFound, Unauthenticated
from holt.models import Event, OAuth2Settings, PolicyRule

pytestmark = pytest.mark.anyio


async def test_the_service_tells_of_itself(holt: AsyncHolt) -> None:
    assert (await holt.health()).status == "ok"
    ready = await holt.ready()
    assert ready.status == "ready"
    assert "gvisor" in ready.isolation
    identity = await holt.whoami()
    assert identity.project.name == "default"
    assert "holt_" in await holt.metrics()


async def test_policies_are_stored_and_replaced(holt: AsyncHolt) -> None:
    rule = PolicyRule(host="a.example.com", ports=[443, 8443])
    policy = await holt.policies.create("python-policy", allow=[rule], include=["pypi"], deny=["203.0.113.0/24"])
    assert policy.deny == ["203.0.113.0/24"]
    assert policy.allow[0].ports == [443, 8443]
    replaced = await holt.policies.replace("python-policy", allow=[*policy.allow, {"host": "b.example.com", "all_ports": True}])
    assert [(one.host, one.all_ports) for one in replaced.allow] == [("a.example.com", None), ("b.example.com", True)]
    assert replaced.deny == []
    assert [one.other_ports for one in replaced.inspection] == [False] * 4 + [True]
    assert (await holt.policies.get(policy.policy_id)).revision == replaced.revision
    assert policy.policy_id in [one.policy_id async for one in holt.policies.list()]
    assert "npm" in [preset.name for preset in await holt.policies.presets()]
    await holt.policies.delete("python-policy")


async def test_a_change_with_an_old_etag_changes_nothing(holt: AsyncHolt) -> None:
    policy = await holt.policies.create("python-etag")
    changed = await holt.policies.replace("python-etag", include=["pypi"], if_match=policy.etag)
    with pytest.raises(PreconditionFailed):
        await holt.policies.replace("python-etag", if_match=policy.etag)
    assert (await holt.policies.get("python-etag")).etag == changed.etag
    await holt.policies.delete("python-etag")
    secret = await holt.secrets.create("python-etag", "value", hosts=["a.example.com"])
    assert (await holt.secrets.replace("python-etag", header="x-a", if_match=secret.etag)).etag != secret.etag
    with pytest.raises(PreconditionFailed):
        await holt.secrets.replace("python-etag", header="x-b", if_match=secret.etag)
    await holt.secrets.delete("python-etag")
    providers = holt.secrets.providers
    static = await providers.create_static("python-etag", "v")
    await providers.replace_static("python-etag", "w", if_match=static.etag)
    with pytest.raises(PreconditionFailed):
        await providers.replace_static("python-etag", "x", if_match=static.etag)
    await providers.delete("python-etag")
    webhook = await holt.webhooks.create("https://hooks.example.com/python-etag")
    await holt.webhooks.update(webhook.webhook_id, description="a", if_match=webhook.etag)
    with pytest.raises(PreconditionFailed):
        await holt.webhooks.update(webhook.webhook_id, description="b", if_match=webhook.etag)
    await holt.webhooks.delete(webhook.webhook_id)


async def test_secrets_and_providers_keep_their_values(holt: AsyncHolt) -> None:
    provider = await holt.secrets.providers.create_oauth2(
        "python-provider", token_url="https://login.example.com/t", client_id="c", client_secret="s", scopes=["a"]
    )
    assert isinstance(provider.settings, OAuth2Settings)
    assert provider.settings.scopes == ["a"]
    static = await holt.secrets.providers.create_static("python-static", "v")
    assert (await holt.secrets.providers.replace_static("python-static", "w")).version == static.version + 1
    workload = await holt.secrets.providers.create_workload("python-workload", audience="x", ttl_secs=60)
    names = {one.name async for one in holt.secrets.providers.list()}
    assert {"python-provider", "python-static", "python-workload"} <= names
    first = await holt.secrets.set("python-secret", provider="python-static", hosts=["a.example.com"])
    second = await holt.secrets.set("python-secret", provider="python-static")
    assert (first.version, second.version) == (1, 2)
    assert first.provider is not None
    assert (await holt.secrets.get("python-secret")).hosts == ["a.example.com"]
    await holt.secrets.delete("python-secret")
    for one in (provider, static, workload):
        await holt.secrets.providers.delete(one.provider_id)
    with pytest.raises(SecretNotFound):
        await holt.secrets.get("python-secret")


async def test_a_key_opens_what_its_scopes_allow(holt: AsyncHolt) -> None:
    expires = datetime.now(timezone.utc) + timedelta(hours=1)
    key = await holt.keys.create("python", scopes=["runtime:read"], expires_at=expires)
    assert key.key not in repr(key)
    assert key.expires_at is not None
    assert abs(key.expires_at - expires) < timedelta(milliseconds=2)
    async with AsyncHolt(holt.url, key.key) as narrow:
        assert (await narrow.whoami()).key.key_id == key.key_id
        with pytest.raises(Forbidden) as caught:
            await narrow.runtimes.create()
        assert caught.value.details["scope"] == "runtime:write"
        rotated = await holt.keys.rotate(key.key_id, overlap_secs=0)
        with pytest.raises(Unauthenticated):
            await narrow.whoami()
    assert rotated.key_id in [one.key_id async for one in holt.keys.list()]
    await holt.keys.revoke(key.key_id)


async def test_a_key_has_the_form_that_clients_of_e2b_want(holt: AsyncHolt) -> None:
    key = await holt.keys.create("agents", format="e2b")
    assert re.fullmatch(r"e2b_[0-9a-f]{40}", key.key)
    async with AsyncHolt(holt.url, key.key) as agents:
        assert (await agents.whoami()).key.key_id == key.key_id
    await holt.keys.revoke(key.key_id)


async def test_projects_have_quotas(holt: AsyncHolt) -> None:
    project = await holt.projects.create("python-project", quotas={"runtimes": 2, "cpu": None})
    assert (project.quotas.runtimes, project.quotas.cpu) == (2, None)
    changed = await holt.projects.update("python-project", quotas={"runtimes": 3})
    assert (changed.quotas.runtimes, (await holt.projects.get(project.project_id)).name) == (3, "python-project")
    await holt.projects.delete("python-project")


async def test_events_are_read_and_followed(holt: AsyncHolt) -> None:
    before = (await holt.events.page(cursor="latest", limit=1)).last_cursor
    async with holt.events.follow(types=["policy.*"], cursor=before) as items:
        policy = await holt.policies.create("python-event")
        event = await anext(items)
    assert isinstance(event, Event)
    assert (event.type, event.subject.id) == ("policy.created", policy.policy_id)
    await holt.policies.delete("python-event")
    listed = [one.type async for one in holt.events.list(subject=policy.policy_id, cursor=before)]
    assert listed == ["policy.created", "policy.deleted"]
    audited = [entry async for entry in holt.audit.list(subject=policy.policy_id)]
    assert {entry.route for entry in audited} == {"createPolicy"} or len(audited) >= 1


async def test_webhooks_are_kept_with_a_secret(holt: AsyncHolt) -> None:
    webhook = await holt.webhooks.create("https://hooks.example.com/holt", types=["build.*"], description="a note")
    assert webhook.secret.startswith("whsec_")
    assert webhook.secret not in repr(webhook)
    changed = await holt.webhooks.update(webhook.webhook_id, state="disabled")
    assert (changed.state, (await holt.webhooks.get(webhook.webhook_id)).description) == ("disabled", "a note")
    assert (await holt.webhooks.rotate_secret(webhook.webhook_id)).secret != webhook.secret
    assert await holt.webhooks.deliveries(webhook.webhook_id).all() == []
    await holt.webhooks.delete(webhook.webhook_id)
    with pytest.raises(HoltError, match="webhook_not_found"):
        await holt.webhooks.get(webhook.webhook_id)


async def test_templates_are_listed_and_dockerfiles_checked(holt: AsyncHolt) -> None:
    names = [template.name async for template in holt.templates.list(kind="system", state="ready")]
    assert {"base-small", "base-medium", "base-large"} <= set(names)
    template = await holt.templates.get("base-small")
    assert (template.cpu, template.memory_mib) == (1, 1024)
    check = await holt.templates.check("FROM scratch\nCMD x\nRUN --security=insecure y\n")
    assert [line.verdict for line in check.lines] == ["supported", "ignored", "refused"]
    assert check.ok is False
