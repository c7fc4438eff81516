import type { Store } from '../../foundation/store/open-store.ts'

const running = new WeakMap<Store, Map<string, Map<string, string>>>()

/**
 * Returns the fingerprints of a project's unanswered requests, by key. A record that is open only
 * in the table was answered as a stream, or was interrupted.
 */
export function runningOf(store: Store, projectId: string): Map<string, string> {
  const projects = running.get(store) ?? new Map<string, Map<string, string>>()
  running.set(store, projects)
  const requests = projects.get(projectId) ?? new Map<string, string>()
  projects.set(projectId, requests)
  return requests
}
