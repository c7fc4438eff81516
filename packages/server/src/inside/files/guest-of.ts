import type { GuestClient } from '@holt/engine'
import type { Caller } from '../../foundation/request/caller.ts'
import { openGuest } from '../../runtimes/links/open-guest.ts'
import type { Inside } from '../inside.ts'

/** The time for the guest to handle a file or a page of entries, in milliseconds. */
export const answerTimeoutMs = 60_000

/**
 * The time for the guest to handle a whole tree, in milliseconds. If the client disconnects first,
 * the guest reverts the change.
 */
export const treeTimeoutMs = 60 * 60_000

/** The parts of a call that locate the guest. */
interface FileCall {
  readonly service: Inside
  readonly caller: Caller
  readonly params: { readonly runtime_id: string }
  readonly operation: () => string | null
  readonly gone: AbortSignal
}

/** Opens the guest of the runtime that a call names. */
export async function guestOf({ service, caller, params, operation, gone }: FileCall): Promise<GuestClient> {
  const ref = { projectId: caller.projectId, runtimeId: params.runtime_id }
  return (await openGuest(service, ref, { operation, gone })).guest
}
