import type { AuditEntry, Route } from '@holt/protocol'

/**
 * Returns the kind of a route's calls in the audit log, or null if they only read. A terminal is
 * also written to, and a link to a port admits others.
 */
export function auditKindOf({ method, path, scope }: Route): AuditEntry['kind'] | null {
  if (scope === null) return null
  const attaches = path.endsWith('/attach')
  if (!attaches && (method === 'GET' ? !scope.endsWith(':write') : scope.endsWith(':read'))) return null
  return /^\/v1\/agents\/runtime\/\{runtime_id\}\/(?:commands|contexts|sessions|files|ports)/.test(path)
    ? 'inside'
    : 'change'
}
