import { type CreateRuntime, HoltError } from '@holt/protocol'
import { type Forwarder, HostRefused } from '../../foundation/wire/forwarder.ts'
import type { Api } from '../api.ts'
import { type AdmittedRequest, forwardTo } from './forward-route.ts'

/** A create whose body has been read. */
interface ReadCreate extends AdmittedRequest {
  readonly create: CreateRuntime
  /** The body as the client has sent it. */
  readonly json: unknown
}

/**
 * Answers a create on the host that placement chooses: here with the result of `here`, or with null
 * after another host has answered. The answering host writes the audit entry.
 */
export async function placeRequest<Result>(
  service: Api,
  forwarder: Forwarder,
  { create, json, ...admitted }: ReadCreate,
  here: () => Promise<Result>,
): Promise<Result | null> {
  const { caller, entry, request } = admitted
  // A body without a type was refused, so this request has none.
  const hasBody = request.headers['content-type'] !== undefined
  let isAudited = false
  try {
    return await forwarder.place<Result | null>({
      projectId: caller.projectId,
      create,
      requestId: request.id,
      here: () => {
        isAudited = true
        return here()
      },
      there: async (owned) => {
        try {
          await forwardTo(service, forwarder, {
            ...admitted,
            owned,
            body: Buffer.from(hasBody ? JSON.stringify(json) : ''),
          })
          return null
        } catch (error) {
          // The host has written an entry for the request that it could not do.
          isAudited ||= error instanceof HoltError
          throw error
        }
      },
    })
  } catch (error) {
    if (isAudited && entry !== null) service.audit.drop(entry)
    throw error instanceof HostRefused ? error.answer : error
  }
}
