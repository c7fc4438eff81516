"""Secrets, and the identity providers that make their values."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

from .._model import decode
from .._models.secret import Provider, Secret
from .._options import Seconds, given, nullable, seconds
from ..errors import SecretNotFound
from .pages import AsyncPaginated
from .transport import AsyncTransport


class AsyncSecrets:
    """The secrets. No call returns a value.

    Runtimes have placeholders, and the gateway inserts the values.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @cached_property
    def providers(self) -> AsyncProviders:
        """The sources of values that are not stored with the secret."""
        return AsyncProviders(self._transport)

    async def create(
        self,
        name: str,
        value: str | None = None,
        *,
        provider: str | None = None,
        hosts: Sequence[str] | None = None,
        header: str | None = None,
        format: str | None = None,
        env: bool | None = None,
        env_name: str | None = None,
    ) -> Secret:
        """Stores a secret. A secret named `anthropic`, `openai` or `google` needs only its value.

        Args:
            name: A name that is unique in the project.
            value: The value. Give exactly one of `value` and `provider`.
            provider: An identity provider by name or id, which makes the value.
            hosts: The only hosts that the value is sent to.
            header: The header that carries the value. Default: `authorization`.
            format: The header with `{value}` in it. Default: `Bearer {value}`.
            env: True if runtimes get the real value in their environment. Default: false.
            env_name: The variable in the runtime. Default: the name in capitals.
        """
        body = _secret_body(value, provider, hosts, header, format, env, env_name)
        answer = await self._transport.call(
            "createSecret", json={"name": name, **body}, idempotency_key=str(uuid.uuid4())
        )
        return decode(Secret, answer)

    async def set(
        self,
        name: str,
        value: str | None = None,
        *,
        provider: str | None = None,
        hosts: Sequence[str] | None = None,
        header: str | None = None,
        format: str | None = None,
        env: bool | None = None,
        env_name: str | None = None,
    ) -> Secret:
        """Stores a secret, or gives the one of that name a new version.

        The options are those of `create`. `env` and `env_name` cannot change.
        """
        body = _secret_body(value, provider, hosts, header, format, env, env_name)
        try:
            answer = await self._transport.call("replaceSecret", params={"secret_id": name}, json=body)
        except SecretNotFound:
            answer = await self._transport.call(
                "createSecret", json={"name": name, **body}, idempotency_key=str(uuid.uuid4())
            )
        return decode(Secret, answer)

    def list(self, *, limit: int | None = None) -> AsyncPaginated[Secret]:
        """Lists secrets, newest first, without their values."""

        async def read_page(cursor: str | None) -> dict[str, Any]:
            return await self._transport.call("listSecrets", query={"limit": limit, "cursor": cursor})

        return AsyncPaginated(read_page, lambda data: decode(Secret, data))

    async def get(self, secret: str) -> Secret:
        """Gets a secret by id or name, without its value."""
        return decode(Secret, await self._transport.call("getSecret", params={"secret_id": secret}))

    async def replace(
        self,
        secret: str,
        value: str | None = None,
        *,
        provider: str | None = None,
        hosts: Sequence[str] | None = None,
        header: str | None = None,
        format: str | None = None,
        env: bool | None = None,
        env_name: str | None = None,
        if_match: str | None = None,
    ) -> Secret:
        """Gives a secret, by id or name, a new version. Runtimes with it follow at once.

        The options are those of `create`. An absent one stays. `if_match` is the etag of the
        version to change: the change of another one fails with `PreconditionFailed`.
        """
        body = _secret_body(value, provider, hosts, header, format, env, env_name)
        answer = await self._transport.call(
            "replaceSecret", params={"secret_id": secret}, json=body, if_match=if_match
        )
        return decode(Secret, answer)

    async def delete(self, secret: str) -> None:
        """Deletes a secret, even while runtimes use it.

        Requests with its placeholder are refused.
        """
        await self._transport.run("deleteSecret", params={"secret_id": secret})

    async def rotate_key(self) -> int:
        """Encrypts all secret data again under a new key, and returns the number of values.

        Needs the scope `operator`.
        """
        return (await self._transport.call("rotateSecretKey"))["resealed"]


class AsyncProviders:
    """The identity providers: one value for several secrets, access tokens, or signed tokens."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create_static(self, name: str, value: str) -> Provider:
        """Stores one value for several secrets."""
        return await self._create({"name": name, **_static(value)})

    async def create_oauth2(
        self,
        name: str,
        *,
        token_url: str,
        client_id: str,
        client_secret: str,
        scopes: Sequence[str] | None = None,
        audience: str | None = None,
        authentication: Literal["basic", "body"] | None = None,
    ) -> Provider:
        """Stores a source of access tokens by client credentials (RFC 6749, 4.4)."""
        settings = _oauth2(token_url, client_id, client_secret, scopes, audience, authentication)
        return await self._create({"name": name, **settings})

    async def create_workload(
        self,
        name: str,
        *,
        audience: str,
        ttl_secs: Seconds | None = None,
        algorithm: Literal["RS256", "ES256", "EdDSA"] | None = None,
    ) -> Provider:
        """Stores a source of short-lived tokens that the service signs for each runtime."""
        return await self._create({"name": name, **_workload(audience, ttl_secs, algorithm)})

    def list(self, *, limit: int | None = None) -> AsyncPaginated[Provider]:
        """Lists providers, newest first, without their secrets."""

        async def read_page(cursor: str | None) -> dict[str, Any]:
            return await self._transport.call("listProviders", query={"limit": limit, "cursor": cursor})

        return AsyncPaginated(read_page, lambda data: decode(Provider, data))

    async def get(self, provider: str) -> Provider:
        """Gets a provider by id or name."""
        return decode(Provider, await self._transport.call("getProvider", params={"provider_id": provider}))

    async def replace_static(self, provider: str, value: str, *, if_match: str | None = None) -> Provider:
        """Replaces the value of a provider. The name and the type stay.

        `if_match` is the etag of the version to replace: the replacement of another one fails with
        `PreconditionFailed`.
        """
        return await self._replace(provider, _static(value), if_match)

    async def replace_oauth2(
        self,
        provider: str,
        *,
        token_url: str,
        client_id: str,
        client_secret: str,
        scopes: Sequence[str] | None = None,
        audience: str | None = None,
        authentication: Literal["basic", "body"] | None = None,
        if_match: str | None = None,
    ) -> Provider:
        """Replaces the settings of a source of access tokens. The name and the type stay.

        `if_match` is as in `replace_static`.
        """
        settings = _oauth2(token_url, client_id, client_secret, scopes, audience, authentication)
        return await self._replace(provider, settings, if_match)

    async def replace_workload(
        self,
        provider: str,
        *,
        audience: str,
        ttl_secs: Seconds | None = None,
        algorithm: Literal["RS256", "ES256", "EdDSA"] | None = None,
        if_match: str | None = None,
    ) -> Provider:
        """Replaces the settings of a source of signed tokens. The name and the type stay.

        `if_match` is as in `replace_static`.
        """
        return await self._replace(provider, _workload(audience, ttl_secs, algorithm), if_match)

    async def delete(self, provider: str) -> None:
        """Deletes a provider that no secret uses."""
        await self._transport.run("deleteProvider", params={"provider_id": provider})

    async def _create(self, body: dict[str, Any]) -> Provider:
        answer = await self._transport.call("createProvider", json=body, idempotency_key=str(uuid.uuid4()))
        return decode(Provider, answer)

    async def _replace(self, provider: str, body: dict[str, Any], if_match: str | None) -> Provider:
        params = {"provider_id": provider}
        answer = await self._transport.call("replaceProvider", params=params, json=body, if_match=if_match)
        return decode(Provider, answer)


def _secret_body(
    value: str | None,
    provider: str | None,
    hosts: Sequence[str] | None,
    header: str | None,
    format: str | None,
    env: bool | None,
    env_name: str | None,
) -> dict[str, Any]:
    return given(
        value=value, provider=provider, hosts=hosts, header=header, format=format, env=env, env_name=env_name
    )


def _static(value: str) -> dict[str, Any]:
    return {"type": "static", "value": value}


def _oauth2(
    token_url: str,
    client_id: str,
    client_secret: str,
    scopes: Sequence[str] | None,
    audience: str | None,
    authentication: str | None,
) -> dict[str, Any]:
    return {
        "type": "oauth2",
        **given(token_url=token_url, client_id=client_id, client_secret=client_secret),
        **given(scopes=scopes, authentication=authentication),
        **nullable(audience=audience),
    }


def _workload(audience: str, ttl_secs: Seconds | None, algorithm: str | None) -> dict[str, Any]:
    return {
        "type": "workload",
        **given(
            audience=audience,
            ttl_secs=None if ttl_secs is None else seconds(ttl_secs),
            algorithm=algorithm,
        ),
    }
