import { type Holt, HoltApiError, type RuntimeState } from '@holt/sdk'
import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { type RuntimeRow, rowOf } from './runtime-row.ts'

/** The states of the table: all but `terminated`, whose rows would soon be most of them. */
const shownStates: readonly RuntimeState[] = [
  'starting',
  'running',
  'pausing',
  'paused',
  'resuming',
  'terminating',
  'failed',
]

/** The runtimes of one request. */
const perRequest = 100

/** Returns the key of the query of a session's runtimes. */
export function runtimesKey(keyId: string): readonly [string, string] {
  return [keyId, 'runtimes']
}

/** Returns the query of all runtimes of a session. */
export function runtimesQuery(holt: Holt, keyId: string) {
  return queryOptions({
    queryKey: runtimesKey(keyId),
    queryFn: async ({ signal }): Promise<readonly RuntimeRow[]> =>
      (await holt.runtimes.list({ state: shownStates, limit: perRequest }, { signal }).all()).map(rowOf),
    // Rows that did not change stay the same objects by `mergeRows`. A comparison would cost more.
    structuralSharing: (before, after) => mergeRows(before as readonly RuntimeRow[] | undefined, after as never),
  })
}

interface RowReads {
  readonly holt: Holt
  readonly queries: QueryClient
  readonly keyId: string
  readonly signal: AbortSignal
}

/** Reads runtimes again, and puts them in the place of their rows. */
export async function rereadRows({ holt, queries, keyId, signal }: RowReads, ids: readonly string[]): Promise<void> {
  const chunks = Array.from({ length: Math.ceil(ids.length / perRequest) }, (_, at) =>
    ids.slice(at * perRequest, (at + 1) * perRequest),
  )
  const read = await Promise.all(
    chunks.map((some) => holt.runtimes.list({ runtime_id: some, limit: perRequest }, { signal }).all()),
  )
  const news = new Map(read.flat().map((runtime) => [runtime.runtime_id as string, rowOf(runtime)]))
  changeRows(queries, keyId, (rows) => {
    const there = new Set(rows.map(({ id }) => id))
    const asked = new Set(ids)
    const kept = rows.flatMap((row) => (asked.has(row.id) ? (news.get(row.id) ?? []) : row))
    const added = [...news.values()].filter(({ id }) => !there.has(id))
    const next =
      added.length === 0 ? kept : [...added.toSorted((one, other) => other.createdAt - one.createdAt), ...kept]
    return next.filter(({ state }) => shownStates.includes(state))
  })
}

/** Shows a state of runtimes before the service has confirmed it. */
export function showState(queries: QueryClient, keyId: string, ids: readonly string[], state: RuntimeState): void {
  const changed = new Set(ids)
  changeRows(queries, keyId, (rows) => rows.map((row) => (changed.has(row.id) ? { ...row, state } : row)))
}

/** Changes the known rows, if they have been read. */
function changeRows(
  queries: QueryClient,
  keyId: string,
  change: (rows: readonly RuntimeRow[]) => readonly RuntimeRow[],
): void {
  queries.setQueryData<readonly RuntimeRow[]>(runtimesKey(keyId), (rows) => (rows === undefined ? rows : change(rows)))
}

/** Returns new rows, with the earlier object of each row that has not changed. */
export function mergeRows(
  before: readonly RuntimeRow[] | undefined,
  after: readonly RuntimeRow[],
): readonly RuntimeRow[] {
  if (before === undefined) return after
  const known = new Map(before.map((row) => [row.id, row]))
  const merged = after.map((row) => {
    const same = known.get(row.id)
    return same !== undefined && isSame(same, row) ? same : row
  })
  return merged.length === before.length && merged.every((row, at) => row === before[at]) ? before : merged
}

function isSame(one: RuntimeRow, other: RuntimeRow): boolean {
  return (Object.keys(one) as (keyof RuntimeRow)[]).every((field) => one[field] === other[field])
}

/** Returns true for an error that repeats: the session or its scope has ended. */
export function isRefusal(error: unknown): boolean {
  return error instanceof HoltApiError && error.httpStatus < 500
}
