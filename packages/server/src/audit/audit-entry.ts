import { type AuditEntry, makeId } from '@holt/protocol'
import type { Queries } from '../store/open-store.ts'

/** What is known of a call. Subject, status and end become known while it is answered. */
export interface OpenEntry {
  readonly auditId: string
  readonly projectId: string | null
  readonly kind: AuditEntry['kind']
  /** Milliseconds since 1970 UTC, as `lastAt`. */
  readonly at: number
  readonly key: { readonly keyId: string; readonly name: string } | null
  readonly address: string
  readonly route: string | null
  readonly params: Readonly<Record<string, string>>
  readonly requestId: string | null
  /** What its path names: as it stands there, and by its id once it was found. */
  named: string | null
  subjectId: string | null
  status: number | null
  count: number
  lastAt: number
  /**
   * What the logs of other projects have of the call, where an operator's key has changed something
   * of theirs.
   */
  readonly told: OpenEntry[]
}

/** What stands for an operator's address in the log of a project that is not his. */
const operatorAddress = 'operator'

/**
 * What a project's log has of a call that changes something of it with a key of another project, an
 * operator's: everything but which key that was, and from where.
 */
export function entryFor(entry: OpenEntry, projectId: string): OpenEntry {
  const known = entry.told.find((told) => told.projectId === projectId)
  if (known !== undefined) return known
  const told = { ...entry, auditId: makeId('audit'), projectId, key: null, address: operatorAddress, told: [] }
  entry.told.push(told)
  return told
}

/** Writes an entry, or completes the one that is there. */
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
 * Notes what a call is about: what it makes, or what an event says; of two of one kind the later
 * one.
 */
export function noteSubject(entry: OpenEntry, subjectId: string, by: 'made' | 'event'): void {
  const sameKind = entry.subjectId?.slice(0, 2) === subjectId.slice(0, 2)
  if (entry.subjectId === entry.named || (by === 'event' && sameKind)) entry.subjectId = subjectId
}

/**
 * Notes the id of what was found by a name, where it is what the path names: a call is about that
 * also where it is refused.
 */
export function noteFound(entry: OpenEntry, name: string, id: string): void {
  if (entry.named !== name || entry.subjectId !== name) return
  entry.named = id
  entry.subjectId = id
}
