import { PollingWatchers } from '@holt/e2b'
import type { Api } from '../../api/api.ts'

const known = new WeakMap<Api, PollingWatchers>()

/** Returns the watchers that clients of a service poll. They end when it closes. */
export function watchersOf(service: Api): PollingWatchers {
  const found = known.get(service)
  if (found !== undefined) return found
  const watchers = new PollingWatchers()
  known.set(service, watchers)
  service.closing.addEventListener('abort', () => watchers.close(), { once: true })
  return watchers
}
