import type { Api } from '../api/api.ts'
import { followEngine } from '../runtimes/reconcile/follow-engine.ts'

/**
 * The time that the start waits for the first reconciliation, which looks at each runtime once.
 * After it, reconciliation continues beside requests.
 */
const reconcileTimeoutMs = 30_000

/** Follows the engine. Resolves after the first comparison, or after `reconcileTimeoutMs`. */
export async function beginFollowing(service: Api): Promise<{ readonly ended: Promise<void> }> {
  const { promise: listed, resolve } = Promise.withResolvers<void>()
  const ended = followEngine(service, resolve)
  const timer = setTimeout(() => {
    service.log.warn({}, 'the engine has not listed its runtimes yet; the service starts without')
    resolve()
  }, reconcileTimeoutMs)
  await listed
  clearTimeout(timer)
  return { ended }
}
