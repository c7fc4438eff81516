import type { GuestClient, GuestProcess } from '@holt/guest-client'
import { type AttachQuery, HoltError, isIdParam, isSet } from '@holt/protocol'
import { idNotFound } from '../../foundation/errors/not-found.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import { within } from '../../foundation/wire/call.ts'
import { openGuest } from '../../runtimes/links/open-guest.ts'
import { requireScope } from '../../tenancy/auth/authenticate.ts'
import type { Inside } from '../inside.ts'

/** The time for the guest to report a command, in milliseconds. */
const answerTimeoutMs = 30_000

/** A command that clients can attach to. */
export interface Attachable {
  readonly guest: GuestClient
  readonly commandId: string
  readonly process: GuestProcess
}

/** Returns true if the client asks to write. */
export function wantsToWrite({ write, takeover }: Pick<AttachQuery, 'write' | 'takeover'>): boolean {
  return isSet(write) || isSet(takeover)
}

/** Returns a project's command after a check that it can be attached to as asked. */
export async function findAttachable(
  service: Inside,
  request: {
    caller: Caller
    params: { runtime_id: string; command_id: string }
    query: AttachQuery
    gone: AbortSignal
  },
): Promise<Attachable> {
  const { caller, params, query, gone } = request
  if (wantsToWrite(query)) requireScope(caller, 'runtime:write')
  const { guest } = await openGuest(service, { projectId: caller.projectId, runtimeId: params.runtime_id }, { gone })
  if (!isIdParam('command_id', params.command_id)) throw idNotFound('command_not_found', params.command_id)
  const process = await guest.processes.get(params.command_id, within({ gone }, answerTimeoutMs))
  if (query.cursor > process.cursor)
    throw new HoltError('invalid_request', `The cursor is after the end of the output, ${process.cursor}.`)
  return { guest, commandId: params.command_id, process }
}
