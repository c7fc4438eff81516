import { z } from 'zod'
import { CreateJoinToken, JoinToken, NewJoinToken } from '../join-token.ts'
import { pageOf } from '../page.ts'
import type { Route } from '../route.ts'
import { answer, json, none } from './parts.ts'

const path = '/v1/agents/join-token'

/** The routes of the tokens with which workers join a fleet. */
export const joinTokenRoutes = {
  createJoinToken: {
    method: 'POST',
    path,
    runsOn: 'entry',
    summary: 'Make a token with which workers join the fleet',
    description:
      'The token names the certificate of the fleet, and the addresses of the hosts with keys that answer now. A worker needs it for its first start.',
    scope: 'operator',
    body: json(CreateJoinToken),
    answers: { 201: answer(NewJoinToken, 'The token, with the text that is shown once.') },
    errors: ['conflict', 'unsupported_media_type'],
    showsSecret: true,
  },
  listJoinTokens: {
    method: 'GET',
    path,
    runsOn: 'entry',
    summary: 'List the join tokens that have not ended',
    scope: 'operator',
    body: none,
    answers: {
      200: answer(pageOf(JoinToken).meta({ id: 'JoinTokenPage' }), 'The tokens, newest first, without secrets.'),
    },
    errors: ['conflict'],
  },
  revokeJoinToken: {
    method: 'DELETE',
    path: `${path}/{token_id}`,
    runsOn: 'entry',
    summary: 'Revoke a join token',
    description: 'Workers that have joined with it stay in the fleet.',
    scope: 'operator',
    params: z.strictObject({ token_id: z.string().describe('The id of the token.') }),
    body: none,
    answers: { 204: { type: 'none', description: 'The token is revoked.' } },
    errors: ['join_token_not_found', 'conflict'],
  },
} as const satisfies Record<string, Route>
