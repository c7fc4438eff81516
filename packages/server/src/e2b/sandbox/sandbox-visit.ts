import { sandboxGone } from '@holt/e2b'
import type { GuestClient } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import type { Api } from '../../api/api.ts'
import { recognise } from '../../api/http/connections.ts'
import type { RequestAccounts } from '../../api/http/request-accounts.ts'
import { type RuntimeRef, refOf } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { breakOff } from '../../foundation/wire/break-off.ts'
import { ClientGone } from '../../foundation/wire/client-gone.ts'
import { RequestEnd } from '../../foundation/wire/request-end.ts'
import { openGuest } from '../../runtimes/links/open-guest.ts'
import { countRequest } from '../../tenancy/auth/admit-caller.ts'
import type { E2bRequest } from '../answers/e2b-request.ts'

/** A request that is admitted to a runtime. It ends with its answer. */
export interface SandboxVisit extends E2bRequest {
  readonly service: Api
  readonly row: RuntimeRow
  readonly ref: RuntimeRef
  /** Aborts when the client is gone, the runtime pauses or ends, or the service closes. */
  readonly gone: AbortSignal
  /** The end of the request. It counts as open until then. */
  readonly end: RequestEnd
  /** The accounts of memory for bodies and answers. */
  readonly accounts: RequestAccounts
  /**
   * Opens the way into the runtime. A paused one resumes for that, if it may. Throws the 502 of the
   * data plane if it is gone.
   */
  guest(): Promise<GuestClient>
}

/** The name under which the requests of all strangers count. No project has it. */
const strangers = ''

/**
 * Begins a visit. With a valid token or signature, it counts for the project's rate and open
 * requests, and its connection counts as one with a key. A stranger counts for none of these,
 * because addresses of sandboxes are public: strangers could use up a project's limits. All
 * strangers share one limit of open requests. Throws `rate_limited`.
 */
export async function beginVisit(
  service: Api,
  accounts: RequestAccounts,
  { asked, row, isStranger }: { asked: E2bRequest; row: RuntimeRow; isStranger: boolean },
): Promise<SandboxVisit> {
  const { request, response } = asked
  const { project_id: projectId, runtime_id: runtimeId } = row
  // First, so that a pause or a revocation from here on cuts the visit.
  const controller = new AbortController()
  const cut = () => {
    controller.abort(new ClientGone('the runtime paused or ended'))
    // A reset, and not the end of a message: clients tell by it that the runtime is gone.
    breakOff(request.socket)
  }
  const leave = service.visits.enter(runtimeId, cut)
  response.once('close', () => {
    leave()
    if (!response.writableFinished) controller.abort(new ClientGone('the client disconnected'))
  })
  if (response.destroyed) {
    // Its close was told before anybody listened.
    leave()
    cut()
  }
  const end = new RequestEnd(response)
  if (isStranger) accounts.inFlight.enter(strangers, end)
  else {
    recognise(request.socket, projectId)
    await countRequest(service, projectId)
    accounts.inFlight.enter(projectId, end)
  }
  const ref = refOf(row)
  return { ...asked, service, row, ref, gone: controller.signal, end, accounts, guest }

  async function guest(): Promise<GuestClient> {
    try {
      return (await openGuest(service, ref, { gone: controller.signal })).guest
    } catch (error) {
      throw isGone(error) ? sandboxGone(runtimeId) : error
    }
  }
}

/** Returns true for the errors of a runtime that a request does not reach. */
export function isGone(error: unknown): boolean {
  return error instanceof HoltError && /^runtime_(?:not_found|terminated|paused|not_running)$/.test(error.code)
}
