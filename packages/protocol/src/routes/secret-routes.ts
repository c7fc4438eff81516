import { z } from 'zod'
import { pageOf, pageQuery } from '../page.ts'
import type { Route } from '../route.ts'
import { CreateSecret, KeyRotated, ReplaceSecret, Secret } from '../secret.ts'
import { answer, json, none } from './parts.ts'

const path = '/v1/agents/secret'
const params = z.strictObject({ secret_id: z.string().describe('The secret by id or name.') })

/** The routes of secrets. No route returns a value. */
export const secretRoutes = {
  createSecret: {
    method: 'POST',
    path,
    runsOn: 'entry',
    summary: 'Store a secret',
    description:
      'A runtime with the secret sees a placeholder. The gateway puts the value into one header of requests to the hosts of the secret, over verified TLS. A secret named `anthropic`, `openai` or `google` needs only its value.',
    scope: 'secret:write',
    body: json(CreateSecret),
    answers: { 201: answer(Secret, 'The secret, without its value.') },
    errors: ['name_taken', 'provider_not_found', 'unsupported_media_type', 'quota_exceeded'],
  },
  listSecrets: {
    method: 'GET',
    path,
    runsOn: 'entry',
    summary: 'List secrets, without their values',
    scope: 'secret:read',
    query: z.strictObject(pageQuery),
    body: none,
    answers: { 200: answer(pageOf(Secret).meta({ id: 'SecretPage' }), 'A page of secrets, newest first.') },
    errors: [],
  },
  getSecret: {
    method: 'GET',
    path: `${path}/{secret_id}`,
    runsOn: 'entry',
    summary: 'Get a secret by id or name, without its value',
    scope: 'secret:read',
    params,
    body: none,
    answers: { 200: answer(Secret, 'The secret, without its value.') },
    errors: ['secret_not_found'],
  },
  replaceSecret: {
    method: 'PUT',
    path: `${path}/{secret_id}`,
    runsOn: 'entry',
    summary: 'Give a secret a new version',
    description:
      'Absent fields are unchanged. It applies at once to every runtime with the secret, except for a value that is inside the runtime.',
    scope: 'secret:write',
    params,
    body: json(ReplaceSecret),
    answers: { 200: answer(Secret, 'The secret as it is now, without its value.') },
    errors: ['secret_not_found', 'provider_not_found', 'conflict', 'precondition_failed', 'unsupported_media_type'],
    takesIfMatch: true,
  },
  deleteSecret: {
    method: 'DELETE',
    path: `${path}/{secret_id}`,
    runsOn: 'entry',
    summary: 'Delete a secret',
    description:
      'It is allowed while runtimes have the secret. The gateway then refuses their requests with its placeholder.',
    scope: 'secret:write',
    params,
    body: none,
    answers: { 204: { type: 'none', description: 'Deleted, with its value.' } },
    errors: ['secret_not_found'],
  },
  rotateSecretKey: {
    method: 'POST',
    path: '/v1/agents/secret-key/rotate',
    runsOn: 'entry',
    summary: 'Encrypt everything secret anew, under a new key',
    description:
      'The key is that of the installation, and seals the secrets of every project. In a fleet, an operator first adds a key to the file of each host, and `conflict` tells which hosts do not have it.',
    scope: 'operator',
    body: none,
    answers: {
      200: answer(KeyRotated, 'The secrets are sealed with a new key. The old key is deleted, or in a fleet may be.'),
    },
    errors: ['disk_full', 'conflict'],
  },
} as const satisfies Record<string, Route>
