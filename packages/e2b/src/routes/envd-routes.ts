import { makeMatcher, type WireRoute } from './match-path.ts'

/** The paths of commands and files: REST, and the procedures of Connect. */
export const envdRoutes = {
  envdHealth: { method: 'GET', path: '/health' },
  readFile: { method: 'GET', path: '/files' },
  writeFiles: { method: 'POST', path: '/files' },
  envdMetrics: { method: 'GET', path: '/metrics' },
  envdEnvs: { method: 'GET', path: '/envs' },
  callProcess: { method: 'POST', path: '/process.Process/{method}' },
  callFilesystem: { method: 'POST', path: '/filesystem.Filesystem/{method}' },
} as const satisfies Record<string, WireRoute>

/** The name of a route of commands and files. */
export type EnvdRouteName = keyof typeof envdRoutes

/** Returns the route of a request for commands and files. */
export const matchEnvd = makeMatcher(envdRoutes)

/**
 * Returns the way in which a route lets its callers in. `none`: anybody. `token`: the access token.
 * `signature`: the access token, or a signature in the query.
 */
export function admissionOf(name: EnvdRouteName): 'none' | 'token' | 'signature' {
  if (name === 'envdHealth') return 'none'
  return name === 'readFile' || name === 'writeFiles' ? 'signature' : 'token'
}

/** The methods that only read. */
const readingMethods: ReadonlySet<string> = new Set([
  ...['List', 'Connect', 'Stat', 'ListDir'],
  ...['WatchDir', 'CreateWatcher', 'GetWatcherEvents', 'RemoveWatcher'],
])

/** Returns the name of the change that a request makes inside. Returns null if it only reads. */
export function changeOf(path: string, name: EnvdRouteName): string | null {
  if (name === 'writeFiles') return name
  if (name !== 'callProcess' && name !== 'callFilesystem') return null
  const method = path.slice(path.lastIndexOf('/') + 1)
  return readingMethods.has(method) ? null : method
}
