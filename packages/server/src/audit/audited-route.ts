import type { AuditEntry, Route } from '@holt/protocol'

/**
 * What a route's calls are in the audit log: none for those that only read. A terminal is read and
 * written to; a link to a port lets others in.
 */
export function auditKindOf({ method, path, scope }: Route): AuditEntry['kind'] | null {
  if (scope === null) return null
  const attaches = path.endsWith('/attach')
  if (!attaches && (method === 'GET' ? !scope.endsWith(':write') : scope.endsWith(':read'))) return null
  return /^\/v1\/agents\/runtime\/\{runtime_id\}\/(?:commands|sessions|files|ports)/.test(path) ? 'inside' : 'change'
}
