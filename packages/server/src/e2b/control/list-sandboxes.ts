import type { ListSandboxes, ListSandboxesV1, SandboxState } from '@holt/e2b'
import type { RuntimeState } from '@holt/protocol'
import type { z } from 'zod'
import { presentRows } from '../../foundation/store/page-cursor.ts'
import { readOneByOne } from '../../foundation/store/read-one-by-one.ts'
import { type LiveList, listLive } from '../../runtimes/state/list-live.ts'
import type { E2bAnswer } from '../answers/write-answer.ts'
import { listedSandbox } from '../sandbox/present-sandbox.ts'
import type { ControlCall } from './control-call.ts'

const statesOf: Readonly<Record<SandboxState, readonly RuntimeState[]>> = {
  running: ['running'],
  paused: ['pausing', 'paused', 'resuming'],
}

/** The maximum number of sandboxes in one list for old clients, which cannot page. */
const maxUnpaged = 1000

/** Lists the sandboxes that have not ended, in pages. The next page is in a header. */
export async function listSandboxes(call: ControlCall<unknown, ListSandboxes>): Promise<E2bAnswer> {
  const { state = ['running', 'paused'], metadata = {}, startedAfter, template, order, limit, nextToken } = call.query
  return answerList(call, {
    states: [...new Set(state)].flatMap((one) => statesOf[one]),
    metadata,
    startedFrom: startedAfter === undefined ? undefined : Date.parse(startedAfter),
    template: template?.replace(/:default$/, ''),
    order,
    limit,
    cursor: nextToken === '' ? undefined : nextToken,
  })
}

/** Lists the running sandboxes, as old clients do. */
export async function listRunning(call: ControlCall<unknown, z.output<typeof ListSandboxesV1>>): Promise<E2bAnswer> {
  const { metadata = {} } = call.query
  return answerList(call, { states: statesOf.running, metadata, order: 'desc', limit: maxUnpaged })
}

async function answerList(
  { service, caller: { projectId }, gone }: ControlCall<unknown, unknown>,
  list: LiveList,
): Promise<E2bAnswer> {
  const { rows, nextCursor } = await readOneByOne(service, { projectId, gone }, () =>
    listLive(service, projectId, list),
  )
  const json = presentRows(rows, { present: listedSandbox, log: service.log, name: ({ seq }) => ({ seq }) })
  return { status: 200, json, headers: pageHeaders(nextCursor) }
}

/** Returns the headers with the next page, which web pages may read. */
export function pageHeaders(nextCursor: string | null): Record<string, string> {
  if (nextCursor === null) return {}
  return { 'x-next-token': nextCursor, 'access-control-expose-headers': 'x-next-token' }
}
