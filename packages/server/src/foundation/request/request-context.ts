import { AsyncLocalStorage } from 'node:async_hooks'
import type { Scope } from '@holt/protocol'
import type { ActiveSpan } from './active-span.ts'
import { noteFound, type OpenEntry } from './audit-entry.ts'

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

/** The context of the request that the present work belongs to. */
export interface RequestContext {
  readonly requestId: string
  /** The caller. Null before authentication, and if the route takes no key. */
  caller: { readonly keyId: string; readonly projectId: string } | null
  /** The current span. Null if nothing is traced. */
  readonly span: ActiveSpan | null
  /** The request whose handler runs. Absent before its handler. */
  readonly acting?: Acting
}

const storage = new AsyncLocalStorage<RequestContext>()

/**
 * Returns the context of the current request. Returns undefined outside of one, for example in the
 * service's loops.
 */
export function currentRequest(): RequestContext | undefined {
  return storage.getStore()
}

/** Runs work in the context of a request. Everything that it begins inherits the context. */
export function runFor<Result>(context: RequestContext, work: () => Result): Result {
  return storage.run(context, work)
}

/** Records the caller of the current request. */
export function noteCaller(caller: NonNullable<RequestContext['caller']>): void {
  const context = storage.getStore()
  if (context !== undefined) context.caller = caller
}

/** Runs the handler of a request, so that its events name its key. */
export async function actFor<Result>(request: Omit<Acting, 'open'>, run: () => Promise<Result>): Promise<Result> {
  const acting: Acting = { ...request, open: true }
  const context = storage.getStore() ?? { requestId: '', caller: null, span: null }
  try {
    return await storage.run({ ...context, acting }, run)
  } finally {
    acting.open = false
  }
}

/** Returns the current request, or null if the service acts by itself. */
export function actingRequest(): Acting | null {
  const acting = storage.getStore()?.acting
  return acting?.open === true ? acting : null
}

/**
 * Sets the subject of the current request's audit entry to an id, if the path names the thing in
 * another way.
 */
export function foundFor(name: string, id: string): void {
  const entry = actingRequest()?.entry ?? null
  if (entry !== null) noteFound(entry, name, id)
}
