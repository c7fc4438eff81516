import { makeMatcher, type PathMatch, type WireRoute } from './match-path.ts'

/**
 * The paths of the control plane. Old clients use the paths without a version. A route with a word
 * in the place of an id stands before the one with the id.
 */
export const controlRoutes = {
  health: { method: 'GET', path: '/health' },
  listTeams: { method: 'GET', path: '/teams' },
  createSandbox: { method: 'POST', path: '/v2/sandboxes' },
  createSandboxV1: { method: 'POST', path: '/sandboxes' },
  listSandboxes: { method: 'GET', path: '/v2/sandboxes' },
  listSandboxesV1: { method: 'GET', path: '/sandboxes' },
  listMetrics: { method: 'GET', path: '/sandboxes/metrics' },
  getSandbox: { method: 'GET', path: '/sandboxes/{sandboxID}' },
  killSandbox: { method: 'DELETE', path: '/sandboxes/{sandboxID}' },
  connectSandbox: { method: 'POST', path: '/v2/sandboxes/{sandboxID}/connect' },
  connectSandboxV1: { method: 'POST', path: '/sandboxes/{sandboxID}/connect' },
  resumeSandbox: { method: 'POST', path: '/sandboxes/{sandboxID}/resume' },
  pauseSandbox: { method: 'POST', path: '/sandboxes/{sandboxID}/pause' },
  setTimeout: { method: 'POST', path: '/sandboxes/{sandboxID}/timeout' },
  refreshSandbox: { method: 'POST', path: '/sandboxes/{sandboxID}/refreshes' },
  getMetrics: { method: 'GET', path: '/sandboxes/{sandboxID}/metrics' },
  getLogsV1: { method: 'GET', path: '/sandboxes/{sandboxID}/logs' },
  getLogs: { method: 'GET', path: '/v2/sandboxes/{sandboxID}/logs' },
  setNetwork: { method: 'PUT', path: '/sandboxes/{sandboxID}/network' },
  createSnapshot: { method: 'POST', path: '/sandboxes/{sandboxID}/snapshots' },
  forkSandbox: { method: 'POST', path: '/sandboxes/{sandboxID}/fork' },
  listSnapshots: { method: 'GET', path: '/snapshots' },
  requestBuild: { method: 'POST', path: '/v3/templates' },
  listTemplates: { method: 'GET', path: '/templates' },
  listTemplatesV2: { method: 'GET', path: '/v2/templates' },
  assignTags: { method: 'POST', path: '/templates/tags' },
  removeTags: { method: 'DELETE', path: '/templates/tags' },
  findAlias: { method: 'GET', path: '/templates/aliases/{alias}' },
  listTags: { method: 'GET', path: '/templates/{templateID}/tags' },
  findFiles: { method: 'GET', path: '/templates/{templateID}/files/{hash}' },
  startBuild: { method: 'POST', path: '/v2/templates/{templateID}/builds/{buildID}' },
  buildStatus: { method: 'GET', path: '/templates/{templateID}/builds/{buildID}/status' },
  buildLogs: { method: 'GET', path: '/templates/{templateID}/builds/{buildID}/logs' },
  getTemplate: { method: 'GET', path: '/templates/{templateID}' },
  updateTemplate: { method: 'PATCH', path: '/v2/templates/{templateID}' },
  deleteTemplate: { method: 'DELETE', path: '/templates/{templateID}' },
} as const satisfies Record<string, WireRoute>

/** The name of a route of the control plane. */
export type ControlRouteName = keyof typeof controlRoutes

/** A route of the control plane that matches a request. */
export type ControlMatch = PathMatch<ControlRouteName>

/** Returns the route of a request to the control plane. */
export const matchControl = makeMatcher(controlRoutes)

/**
 * Returns true for a path that belongs to the control plane, with or without a route. No path of
 * Holt begins like this: its own begin with `/v1/`, or have other names.
 */
export function isControlPath(path: string): boolean {
  return /^\/(?:health|(?:v2\/)?sandboxes|(?:v[23]\/)?templates|snapshots|teams|e2b-uploads|volumes|volumecontent|secrets)(?:\/|$)/.test(
    path,
  )
}

/** The beginning of the paths at which files of templates are uploaded. They carry no key. */
export const uploadPath = '/e2b-uploads/'

/** Returns true for a path of the control plane whose ability this service does not have. */
export function isAbsentPath(path: string): boolean {
  return /^\/(?:volumes|volumecontent|secrets)(?:\/|$)/.test(path)
}
