import { encodeCursor, seqBefore } from './page-cursor.ts'
import { yieldEventLoop } from './read-one-by-one.ts'

/** The number of rows that one query examines if filters leave few of them. */
const examinedRows = 250

/**
 * The maximum number of bytes that several rows of a page have together. A page may be short and
 * still have a next one.
 */
const maxPageBytes = 2 ** 20

/** The place of a row, and its approximate size. */
interface FoundRow {
  readonly seq: number
  readonly bytes: number
}

/** The queries that find the rows of a list. */
export interface Finding {
  /**
   * Returns the place of the last of `count` rows before `before`, regardless of filters. Returns
   * null if there are fewer. Absent if nothing is filtered.
   */
  readonly reach?: (before: number, count: number) => Promise<number | null>
  /** Returns the first rows before `before` and not before `from`, the newest first. */
  readonly find: (range: { before: number; from: number }, count: number) => Promise<readonly FoundRow[]>
}

/** The places of a page's rows, and the cursor of the next page. */
export interface FoundPage {
  readonly seqs: readonly number[]
  readonly bytes: number
  readonly nextCursor: string | null
}

/**
 * Finds the rows of a page before any of them is read. Yields to the event loop between two
 * queries.
 */
export async function findPage(
  { reach, find }: Finding,
  { limit, cursor, gone }: { limit: number; cursor?: string | undefined; gone?: AbortSignal },
  examined = examinedRows,
): Promise<FoundPage> {
  const found: FoundRow[] = []
  for (let before = seqBefore(cursor); ; ) {
    gone?.throwIfAborted()
    const from = (await reach?.(before, examined)) ?? null
    found.push(...(await find({ before, from: from ?? 0 }, limit + 1 - found.length)))
    if (from === null || found.length > limit) break
    before = from
    await yieldEventLoop()
  }
  return cut(found, limit)
}

function cut(found: readonly FoundRow[], limit: number): FoundPage {
  const shown: FoundRow[] = []
  let bytes = 0
  for (const row of found.slice(0, limit)) {
    if (shown.length > 0 && bytes + row.bytes > maxPageBytes) break
    shown.push(row)
    bytes += row.bytes
  }
  const last = shown.at(-1)
  return {
    seqs: shown.map(({ seq }) => seq),
    bytes,
    nextCursor: found.length > shown.length && last !== undefined ? encodeCursor(last.seq) : null,
  }
}
