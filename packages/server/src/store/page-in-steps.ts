import { encodeCursor, seqBefore } from './page-cursor.ts'
import { giveTurn } from './read-in-turn.ts'

/** How many rows one query looks through where filters leave few of them. */
const examinedRows = 250

/**
 * What the rows of a page have together, if they are more than one: a page may be short and have a
 * next one.
 */
const maxPageBytes = 2 ** 20

/** A row, by its place and about how large it is. */
interface FoundRow {
  readonly seq: number
  readonly bytes: number
}

/** How the rows of a list are found. */
export interface Finding {
  /**
   * The place of the last of so many rows before another, whatever filters say; null where there
   * are fewer. Absent where nothing is filtered.
   */
  readonly reach?: (before: number, count: number) => Promise<number | null>
  /** The first rows before one place and not before another, the newest first. */
  readonly find: (range: { before: number; from: number }, count: number) => Promise<readonly FoundRow[]>
}

/** Which rows are a page, and where the next one begins. */
export interface FoundPage {
  readonly seqs: readonly number[]
  readonly bytes: number
  readonly nextCursor: string | null
}

/**
 * Finds the rows of a page before any of them is read. Others have their turn between two queries.
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
    await giveTurn()
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
