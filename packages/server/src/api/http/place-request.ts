import type { IncomingHttpHeaders } from 'node:http'
import { HoltError } from '@holt/protocol'
import { fromEngineError, isEngineError } from '../../foundation/errors/engine-errors.ts'
import type { OpenEntry } from '../../foundation/request/audit-entry.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import { isDiskFull } from '../../foundation/store/disk-full.ts'
import { type Forwarder, HostRefused, type Owned, type WantedThing } from '../../foundation/wire/forwarder.ts'
import { isRefusal } from '../../foundation/wire/placed-refusals.ts'
import type { Api } from '../api.ts'

/** A request that placement sends to a host, with its body. */
interface ReadRequest {
  readonly caller: Caller
  readonly entry: OpenEntry | null
  readonly requestId: string
  readonly headers: IncomingHttpHeaders
  readonly wanted: WantedThing
  /** The body as the client has sent it. */
  readonly json: unknown
  /** Sends the request to a host, with a body. */
  readonly send: (owned: Owned, body: Buffer) => Promise<unknown>
}

/**
 * Answers a request on the host that placement chooses: here with the result of `here`, or with
 * null after another host has answered. The answering host writes the audit entry. This one writes
 * it if all hosts refuse.
 */
export async function placeRequest<Result>(
  { audit }: Pick<Api, 'audit'>,
  forwarder: Forwarder,
  { caller, entry, requestId, headers, wanted, json, send }: ReadRequest,
  here: () => Promise<Result>,
): Promise<Result | null> {
  // A body without a type was refused, so this request has none.
  const hasBody = headers['content-type'] !== undefined
  let isAudited = false
  try {
    return await forwarder.place<Result | null>({
      projectId: caller.projectId,
      wanted,
      requestId,
      here,
      there: async (owned) => {
        try {
          await send(owned, Buffer.from(hasBody ? JSON.stringify(json) : ''))
          return null
        } catch (error) {
          // The host has written an entry for the request that it could not do.
          isAudited ||= error instanceof HoltError && !isRefusal(error)
          throw error
        }
      },
    })
  } catch (error) {
    const isUnaudited = isAudited || (wanted.type === 'runtime' && wanted.create.dry_run === true)
    if (isUnaudited && entry !== null) audit.drop(entry)
    throw error instanceof HostRefused ? error.answer : error
  }
}

/**
 * Answers a request that another host has placed here. Drops the audit entry of a refusal: that
 * host may ask others, and writes one entry.
 */
export async function answerPlaced<Result>(
  { audit }: Pick<Api, 'audit'>,
  entry: OpenEntry | null,
  answer: () => Promise<Result>,
): Promise<Result> {
  try {
    return await answer()
  } catch (error) {
    const isRefused = isDiskFull(error) || isRefusal(isEngineError(error) ? fromEngineError(error) : error)
    if (isRefused && entry !== null) audit.drop(entry)
    throw error
  }
}
