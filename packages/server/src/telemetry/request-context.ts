import { AsyncLocalStorage } from 'node:async_hooks'
import type { ActiveSpan } from './tracer.ts'

/** What is known of the request that somebody works for. */
export interface RequestContext {
  readonly requestId: string
  /** Whose key it came with; null before that is known, and where the route takes none. */
  caller: { readonly keyId: string; readonly projectId: string } | null
  /** The span that is under way; null where nothing is traced. */
  readonly span: ActiveSpan | null
}

const storage = new AsyncLocalStorage<RequestContext>()

/** The request that is worked for; undefined where it is none, as in the loops of the service. */
export function currentRequest(): RequestContext | undefined {
  return storage.getStore()
}

/** Runs work for a request, with all that it begins. */
export function runFor<Result>(context: RequestContext, work: () => Result): Result {
  return storage.run(context, work)
}

/** Notes whose key a request has. */
export function noteCaller(caller: NonNullable<RequestContext['caller']>): void {
  const context = storage.getStore()
  if (context !== undefined) context.caller = caller
}
