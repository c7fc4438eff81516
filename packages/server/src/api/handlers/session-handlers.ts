import type { GuestSession } from '@holt/guest-client'
import { type Id, isIdParam, type Session, SessionName } from '@holt/protocol'
import { sessionNotFound } from '../../foundation/errors/not-found.ts'
import { moment } from '../../foundation/store/moment.ts'
import { type Answer, type Call, within } from '../../foundation/wire/call.ts'
import { pageOfGuest } from '../../inside/commands/list-page.ts'
import { openGuest } from '../../runtimes/links/open-guest.ts'
import type { Api, Handlers } from '../api.ts'

/**
 * The time for the guest to answer, in milliseconds. The end of a session takes up to ten seconds
 * for each command that is killed.
 */
const answerTimeoutMs = 60_000

/** The routes of shell sessions. */
export const sessionHandlers = { listSessions, endSession } satisfies Partial<Handlers>

async function listSessions({ service, query, gone, ref }: Call<'listSessions', Api>): Promise<Answer> {
  const { guest } = await openGuest(service, ref, { gone })
  const sessions = await guest.sessions.list(within({ gone }, answerTimeoutMs))
  return { status: 200, json: pageOfGuest(sessions, { query, nameOf: ({ name }) => name, show: presentSession }) }
}

async function endSession({ service, params, gone, ref }: Call<'endSession', Api>): Promise<Answer> {
  const { guest } = await openGuest(service, ref, { gone })
  if (!SessionName.safeParse(params.name).success) throw sessionNotFound(params.name)
  await guest.sessions.end(params.name, within({ gone }, answerTimeoutMs))
  return { status: 204 }
}

function presentSession(session: GuestSession): Session {
  const { name, shell, user, cwd, commands, current } = session
  const commandId = current !== null && isIdParam('command_id', current) ? (current as Id<'command'>) : null
  return {
    name,
    shell,
    user,
    cwd,
    commands,
    command_id: commandId,
    created_at: moment(session.started_at_ms),
    last_used_at: moment(session.used_at_ms),
  }
}
