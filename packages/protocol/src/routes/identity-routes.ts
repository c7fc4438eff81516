import { z } from 'zod'
import { CreateProvider, JsonWebKeySet, OpenIdConfiguration, Provider, ReplaceProvider } from '../identity-provider.ts'
import { pageOf, pageQuery } from '../page.ts'
import type { Route } from '../route.ts'
import { answer, json, none } from './parts.ts'

const path = '/v1/agents/identity-provider'
const params = z.strictObject({ provider_id: z.string().describe('The provider by id or name.') })

/**
 * The routes of identity providers, and of the facts that verifiers of this service's own tokens
 * need.
 */
export const identityRoutes = {
  createProvider: {
    method: 'POST',
    path,
    runsOn: 'entry',
    summary: 'Store an identity provider',
    description:
      '`static`: one value for several secrets. `oauth2`: access tokens by client credentials (RFC 6749, 4.4), kept until they expire. `workload`: short-lived JWTs that this service signs for each runtime.',
    scope: 'secret:write',
    body: json(CreateProvider),
    answers: { 201: answer(Provider, 'The provider, without its secret values.') },
    errors: ['name_taken', 'unsupported_media_type', 'quota_exceeded'],
  },
  listProviders: {
    method: 'GET',
    path,
    runsOn: 'entry',
    summary: 'List identity providers',
    scope: 'secret:read',
    query: z.strictObject(pageQuery),
    body: none,
    answers: { 200: answer(pageOf(Provider).meta({ id: 'ProviderPage' }), 'A page of providers, newest first.') },
    errors: [],
  },
  getProvider: {
    method: 'GET',
    path: `${path}/{provider_id}`,
    runsOn: 'entry',
    summary: 'Get an identity provider by id or name',
    scope: 'secret:read',
    params,
    body: none,
    answers: { 200: answer(Provider, 'The provider, without its secret values.') },
    errors: ['provider_not_found'],
  },
  replaceProvider: {
    method: 'PUT',
    path: `${path}/{provider_id}`,
    runsOn: 'entry',
    summary: 'Replace the settings of an identity provider',
    scope: 'secret:write',
    params,
    body: json(ReplaceProvider),
    answers: { 200: answer(Provider, 'The provider as it is now.') },
    errors: ['provider_not_found', 'conflict', 'precondition_failed', 'unsupported_setting', 'unsupported_media_type'],
    takesIfMatch: true,
  },
  deleteProvider: {
    method: 'DELETE',
    path: `${path}/{provider_id}`,
    runsOn: 'entry',
    summary: 'Delete an identity provider',
    description: 'The service refuses it while secrets take their value from the provider. The error names them.',
    scope: 'secret:write',
    params,
    body: none,
    answers: { 204: { type: 'none', description: 'Deleted.' } },
    errors: ['provider_not_found', 'in_use'],
  },
  openIdConfiguration: {
    method: 'GET',
    path: '/.well-known/openid-configuration',
    runsOn: 'entry',
    summary: 'This service as an issuer of tokens',
    scope: null,
    body: none,
    answers: { 200: answer(OpenIdConfiguration, 'OpenID Connect Discovery 1.0.') },
    errors: [],
  },
  jsonWebKeys: {
    method: 'GET',
    path: '/.well-known/jwks.json',
    runsOn: 'entry',
    summary: 'The public keys that this service signs tokens with',
    scope: null,
    body: none,
    answers: { 200: answer(JsonWebKeySet, 'RFC 7517.') },
    errors: [],
  },
} as const satisfies Record<string, Route>
