import { type AuditEntry, makeId } from '@holt/protocol'
import type { Queries } from '../store/open-store.ts'

/** The facts of a call. Subject, status and end become known while the call is handled. */
export interface OpenEntry {
  readonly auditId: string
  readonly projectId: string | null
  readonly kind: AuditEntry['kind']
  /** Milliseconds since 1970 UTC, like `lastAt`. */
  readonly at: number
  readonly key: { readonly keyId: string; readonly name: string } | null
  readonly address: string
  readonly route: string | null
  readonly params: Readonly<Record<string, string>>
  readonly requestId: string | null
  /**
   * The thing that the path names. It holds the path's text, then the id once the thing is found.
   */
  named: string | null
  subjectId: string | null
  status: number | null
  count: number
  lastAt: number
  /**
   * The entries of this call in other projects' logs, if an operator's key has changed their
   * things.
   */
  readonly told: OpenEntry[]
}

/** The value that replaces an operator's address in the log of another project. */
const operatorAddress = 'operator'

/**
 * Returns the entry for a project's log if an operator's key of another project changes something
 * of it. It omits the key and the address.
 */
export function entryFor(entry: OpenEntry, projectId: string): OpenEntry {
  const known = entry.told.find((told) => told.projectId === projectId)
  if (known !== undefined) return known
  const told = { ...entry, auditId: makeId('audit'), projectId, key: null, address: operatorAddress, told: [] }
  entry.told.push(told)
  return told
}

/** Writes an entry, or completes the existing one. */
export async function writeEntry(changes: Queries, entry: OpenEntry): Promise<void> {
  const known = { subject_id: entry.subjectId, status: entry.status, last_at: entry.lastAt, count: entry.count }
  await changes
    .insertInto('audit')
    .values({
      audit_id: entry.auditId,
      project_id: entry.projectId,
      kind: entry.kind,
      at: entry.at,
      key_id: entry.key?.keyId ?? null,
      key_name: entry.key?.name ?? null,
      address: entry.address,
      route: entry.route,
      params_json: JSON.stringify(entry.params),
      request_id: entry.requestId,
      ...known,
    })
    .onConflict((conflict) => conflict.column('audit_id').doUpdateSet(known))
    .execute()
}

/**
 * Notes the subject of a call: the thing that it makes, or that an event names. Of two things of
 * one kind, the later one counts.
 */
export function noteSubject(entry: OpenEntry, subjectId: string, by: 'made' | 'event'): void {
  const sameKind = entry.subjectId?.slice(0, 2) === subjectId.slice(0, 2)
  if (entry.subjectId === entry.named || (by === 'event' && sameKind)) entry.subjectId = subjectId
}

/**
 * Notes the id of a thing that was found by the name in the path. It is the subject of the call
 * even if the call is refused.
 */
export function noteFound(entry: OpenEntry, name: string, id: string): void {
  if (entry.named !== name || entry.subjectId !== name) return
  entry.named = id
  entry.subjectId = id
}
