import { AsyncLocalStorage } from 'node:async_hooks'
import type { Scope } from '@holt/protocol'
import { noteFound, type OpenEntry } from '../rows/audit-entry.ts'

/** The request for which an action is done. */
interface Acting {
  readonly projectId: string
  readonly keyId: string
  readonly scopes: ReadonlySet<Scope>
  /** The request's audit entry. Null if the request changes nothing. */
  readonly entry: OpenEntry | null
  /** False after the answer. Later work is the service's own. */
  open: boolean
}

const current = new AsyncLocalStorage<Acting>()

/** Runs the handler of a request, so that its events name its key. */
export async function actFor<Result>(request: Omit<Acting, 'open'>, run: () => Promise<Result>): Promise<Result> {
  const acting: Acting = { ...request, open: true }
  try {
    return await current.run(acting, run)
  } finally {
    acting.open = false
  }
}

/**
 * Sets the subject of the current request's audit entry to an id, if the path names the thing in
 * another way.
 */
export function foundFor(name: string, id: string): void {
  const entry = actingRequest()?.entry ?? null
  if (entry !== null) noteFound(entry, name, id)
}

/** Returns the current request, or null if the service acts by itself. */
export function actingRequest(): Acting | null {
  const acting = current.getStore()
  return acting?.open === true ? acting : null
}
