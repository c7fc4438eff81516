import { isIdParam, type JoinToken } from '@holt/protocol'
import { idNotFound } from '../../foundation/errors/not-found.ts'
import { moment } from '../../foundation/store/moment.ts'
import type { JoinTokenRow } from '../../foundation/store/tables.ts'
import type { Handlers } from '../api.ts'
import { requireFleet } from './require-fleet.ts'

/** The routes of join tokens. A machine in no fleet loads nothing for them. */
export const joinTokenHandlers = {
  createJoinToken: async ({ service, body, newId }) => {
    requireFleet(service)
    const { makeFleetToken } = await import('../../fleet/trust/make-fleet-token.ts')
    const uses = body.once ? 'once' : 'until it ends'
    const terms = { id: newId('join_token'), ttlMs: body.ttl_secs * 1000, uses } as const
    const { row, text } = await makeFleetToken(service, terms)
    return { status: 201, json: { ...presentToken(row), token: text } }
  },
  listJoinTokens: async ({ service }) => {
    requireFleet(service)
    const { listJoinTokens } = await import('../../fleet/trust/join-tokens.ts')
    return { status: 200, json: { data: (await listJoinTokens(service)).map(presentToken), next_cursor: null } }
  },
  revokeJoinToken: async ({ service, params: { token_id: id } }) => {
    requireFleet(service)
    const { revokeJoinToken } = await import('../../fleet/trust/join-tokens.ts')
    if (!isIdParam('token_id', id) || !(await revokeJoinToken(service, id)))
      throw idNotFound('join_token_not_found', id)
    return { status: 204 }
  },
} satisfies Partial<Handlers>

/** Returns a token in the API's form, without its digest. */
function presentToken(row: JoinTokenRow): JoinToken {
  return {
    token_id: row.token_id as JoinToken['token_id'],
    created_at: moment(row.created_at),
    expires_at: moment(row.expires_at),
    once: row.is_single_use === 1,
    uses: row.uses,
  }
}
