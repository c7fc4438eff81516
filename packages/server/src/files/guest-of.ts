import type { GuestClient } from '@holt/engine'
import type { Caller } from '../auth/authenticate.ts'
import { openGuest } from '../runtimes/open-guest.ts'
import type { Service } from '../service.ts'

/** Time for the guest to answer what touches a file or a page of entries. */
export const answerTimeoutMs = 60_000

/** Time for what touches a whole tree. Where the client leaves first, the guest undoes it. */
export const treeTimeoutMs = 60 * 60_000

/** What the routes of files need of a call to find the guest. */
interface FileCall {
  readonly service: Service
  readonly caller: Caller
  readonly params: { readonly runtime_id: string }
  readonly operation: () => string | null
  readonly gone: AbortSignal
}

/** Opens the guest of the runtime that a call is about. */
export async function guestOf({ service, caller, params, operation, gone }: FileCall): Promise<GuestClient> {
  const ref = { projectId: caller.projectId, runtimeId: params.runtime_id }
  return (await openGuest(service, ref, { operation, gone })).guest
}
