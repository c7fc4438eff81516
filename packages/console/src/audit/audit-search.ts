import type { AuditFilter } from '@holt/sdk'

/** The filters of the page, as its address has them. Absent: no filter. */
export interface AuditSearch {
  readonly kind?: string
  readonly route?: string
  readonly key?: string
  readonly subject?: string
  /** The number of the last hours whose entries are shown. */
  readonly hours?: string
  /** The id of another project, or `all`. */
  readonly project?: string
}

/** The names of the filters. */
const auditFilterNames = ['kind', 'route', 'key', 'subject', 'hours', 'project'] as const

/** Returns the filters in an address. */
export function auditSearchOf(search: Readonly<Record<string, unknown>>): AuditSearch {
  const given = auditFilterNames.flatMap((name) => {
    const value = search[name]
    return typeof value === 'string' || typeof value === 'number' ? [[name, String(value)] as const] : []
  })
  return Object.fromEntries(given)
}

/** The kinds of entries, with what they are. */
export const auditKindTitles = {
  change: 'Changes',
  inside: 'Inside runtimes',
  auth_failed: 'Without a valid key',
} as const

/** Returns the filter of the service. */
export function filterOf({ kind, route, key, subject, hours, project }: AuditSearch, now = Date.now()): AuditFilter {
  const since = now - Number(hours ?? 0) * 3_600_000
  return {
    ...(kind !== undefined && Object.hasOwn(auditKindTitles, kind)
      ? { kind: kind as keyof typeof auditKindTitles }
      : {}),
    ...(route === undefined ? {} : { route }),
    ...(key === undefined ? {} : { key_id: key }),
    ...(subject === undefined ? {} : { subject }),
    ...(hours === undefined || Number.isNaN(since) ? {} : { since: new Date(since).toISOString() }),
    ...(project === undefined ? {} : { project }),
  }
}
