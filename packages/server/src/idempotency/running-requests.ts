import type { Store } from '../store/open-store.ts'

const running = new WeakMap<Store, Map<string, Map<string, string>>>()

/**
 * Fingerprints of a project's requests that have not been answered, by their keys. One that stands
 * open in the table and not here has been answered as a stream, or has broken off.
 */
export function runningOf(store: Store, projectId: string): Map<string, string> {
  const projects = running.get(store) ?? new Map<string, Map<string, string>>()
  running.set(store, projects)
  const requests = projects.get(projectId) ?? new Map<string, string>()
  projects.set(projectId, requests)
  return requests
}
