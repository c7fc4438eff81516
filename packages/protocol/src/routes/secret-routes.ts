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
    summary: 'Store a secret',
    description:
      'A runtime that has it sees a placeholder. The gateway puts the value into that one header of requests to those hosts, over TLS verified to them. A secret named `anthropic`, `openai` or `google` needs only its value.',
    scope: 'secret:write',
    body: json(CreateSecret),
    answers: { 201: answer(Secret, 'The secret, without its value.') },
    errors: ['name_taken', 'provider_not_found', 'unsupported_media_type', 'quota_exceeded'],
  },
  listSecrets: {
    method: 'GET',
    path,
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
    summary: 'Give a secret a new version',
    description:
      'What is absent stays as it is. Every runtime that has the secret follows at once, but for a value that is inside.',
    scope: 'secret:write',
    params,
    body: json(ReplaceSecret),
    answers: { 200: answer(Secret, 'The secret as it is now, without its value.') },
    errors: ['secret_not_found', 'provider_not_found', 'conflict', 'unsupported_media_type'],
  },
  deleteSecret: {
    method: 'DELETE',
    path: `${path}/{secret_id}`,
    summary: 'Delete a secret',
    description: 'Also while runtimes have it: their requests that carry its placeholder are refused from then on.',
    scope: 'secret:write',
    params,
    body: none,
    answers: { 204: { type: 'none', description: 'Its value is gone.' } },
    errors: ['secret_not_found'],
  },
  rotateSecretKey: {
    method: 'POST',
    path: '/v1/agents/secret-key/rotate',
    summary: 'Encrypt everything secret anew, under a new key',
    description: 'Of every project: the key is the installation’s.',
    scope: 'operator',
    body: none,
    answers: { 200: answer(KeyRotated, 'The old key opens nothing any more and is gone.') },
    errors: ['disk_full', 'conflict'],
  },
} as const satisfies Record<string, Route>
