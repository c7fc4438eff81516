import { AsyncLocalStorage } from 'node:async_hooks'
import type { ActiveSpan } from './active-span.ts'

/** The context of the request that the present work belongs to. */
export interface RequestContext {
  readonly requestId: string
  /** The caller. Null before authentication, and if the route takes no key. */
  caller: { readonly keyId: string; readonly projectId: string } | null
  /** The current span. Null if nothing is traced. */
  readonly span: ActiveSpan | null
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
