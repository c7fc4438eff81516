import { z } from 'zod'
import { CreateKey, Key, NewKey } from '../key.ts'
import { pageOf, pageQuery } from '../page.ts'
import type { Route } from '../route.ts'
import { answer, json, none } from './parts.ts'

/** Keys. */
export const keyRoutes = {
  createKey: {
    method: 'POST',
    path: '/v1/agents/key',
    summary: 'Make a key',
    scope: 'admin',
    body: json(CreateKey),
    answers: { 201: answer(NewKey, 'The key, with the secret that is shown once.') },
    errors: ['unsupported_media_type'],
  },
  listKeys: {
    method: 'GET',
    path: '/v1/agents/key',
    summary: 'List keys',
    scope: 'admin',
    query: z.strictObject(pageQuery),
    body: none,
    answers: { 200: answer(pageOf(Key).meta({ id: 'KeyPage' }), 'A page of keys, without secrets.') },
    errors: [],
  },
  revokeKey: {
    method: 'DELETE',
    path: '/v1/agents/key/{key_id}',
    summary: 'Revoke a key',
    scope: 'admin',
    params: z.strictObject({ key_id: z.string() }),
    body: none,
    answers: { 204: { type: 'none', description: 'It opens nothing any more.' } },
    errors: ['key_not_found', 'conflict'],
  },
} as const satisfies Record<string, Route>
