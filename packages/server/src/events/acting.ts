import { AsyncLocalStorage } from 'node:async_hooks'
import type { Scope } from '@holt/protocol'
import { noteFound, type OpenEntry } from '../audit/audit-entry.ts'

/** The request that something is done for. */
interface Acting {
  readonly projectId: string
  readonly keyId: string
  readonly scopes: ReadonlySet<Scope>
  /** Where it is written down; null where it changes nothing. */
  readonly entry: OpenEntry | null
  /** False when it has been answered: what goes on after that, the service does by itself. */
  open: boolean
}

const current = new AsyncLocalStorage<Acting>()

/** Runs what answers a request, so that the events of it name its key. */
export async function actFor<Result>(request: Omit<Acting, 'open'>, run: () => Promise<Result>): Promise<Result> {
  const acting: Acting = { ...request, open: true }
  try {
    return await current.run(acting, run)
  } finally {
    acting.open = false
  }
}

/**
 * Has the entry of the request that is being answered say what its path means, where it names it by
 * other than its id.
 */
export function foundFor(name: string, id: string): void {
  const entry = actingRequest()?.entry ?? null
  if (entry !== null) noteFound(entry, name, id)
}

/** The request that is being answered; null where the service does something by itself. */
export function actingRequest(): Acting | null {
  const acting = current.getStore()
  return acting?.open === true ? acting : null
}
