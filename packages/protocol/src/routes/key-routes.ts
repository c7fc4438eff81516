import { z } from 'zod'
import { CreateKey, Identity, Key, NewKey, RotateKey } from '../key.ts'
import { pageOf, pageQuery } from '../page.ts'
import type { Route } from '../route.ts'
import { Text } from '../text.ts'
import { answer, json, none } from './parts.ts'

const keyParams = z.strictObject({ key_id: z.string().describe('The id of the key.') })

/** The routes of keys. */
export const keyRoutes = {
  createKey: {
    method: 'POST',
    path: '/v1/agents/key',
    runsOn: 'entry',
    summary: 'Make a key',
    description: 'The key can only get scopes of the key that makes it. `admin` includes all scopes except `operator`.',
    scope: 'admin',
    body: json(CreateKey),
    answers: { 201: answer(NewKey, 'The key, with the secret that is shown once.') },
    errors: ['unsupported_media_type', 'project_not_found'],
    showsSecret: true,
  },
  listKeys: {
    method: 'GET',
    path: '/v1/agents/key',
    runsOn: 'entry',
    summary: 'List keys',
    scope: 'admin',
    query: z.strictObject({
      ...pageQuery,
      project: Text.max(63)
        .optional()
        .describe('Another project, by name or id; needs the scope `operator`. Default: the project of the key.'),
    }),
    body: none,
    answers: { 200: answer(pageOf(Key).meta({ id: 'KeyPage' }), 'A page of keys, without secrets.') },
    errors: ['project_not_found'],
  },
  getKey: {
    method: 'GET',
    path: '/v1/agents/key/{key_id}',
    runsOn: 'entry',
    summary: 'Get a key',
    scope: 'admin',
    params: keyParams,
    body: none,
    answers: { 200: answer(Key, 'The key, without its secret.') },
    errors: ['key_not_found'],
  },
  rotateKey: {
    method: 'POST',
    path: '/v1/agents/key/{key_id}/rotate',
    runsOn: 'entry',
    summary: 'Give a key a new secret',
    description:
      'The key keeps its id, scopes and expiry. The old secret is valid for `overlap_secs` more, and then its open connections are closed. A secret of an earlier rotation ends now.',
    scope: 'admin',
    params: keyParams,
    body: json(RotateKey),
    answers: { 200: answer(NewKey, 'The key, with the new secret that is shown once.') },
    errors: ['key_not_found', 'conflict', 'unsupported_media_type'],
    showsSecret: true,
  },
  revokeKey: {
    method: 'DELETE',
    path: '/v1/agents/key/{key_id}',
    runsOn: 'entry',
    summary: 'Revoke a key',
    description: 'Its open connections are closed within a second.',
    scope: 'admin',
    params: keyParams,
    body: none,
    answers: { 204: { type: 'none', description: 'The key is revoked.' } },
    errors: ['key_not_found', 'conflict'],
  },
  whoami: {
    method: 'GET',
    path: '/v1/agents/whoami',
    runsOn: 'entry',
    summary: 'Which key this is, and what its project has',
    scope: 'any',
    body: none,
    answers: { 200: answer(Identity, 'The key, its project, and the quotas of the project with their use.') },
    errors: [],
  },
} as const satisfies Record<string, Route>
