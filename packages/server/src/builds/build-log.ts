import type { BuildLogLine } from '@holt/protocol'
import { Watchers } from '../foundation/async/watchers.ts'
import type { Log } from '../foundation/log.ts'
import { aloneWithRow } from '../foundation/store/alone.ts'
import { batches } from '../foundation/store/batches.ts'
import type { Queries, Store } from '../foundation/store/open-store.ts'
import type { BuildRef } from './find-build.ts'

/** The longest delay of a line in the log, in milliseconds. */
const flushMs = 200

/** The pause before lines are written again that the store refused, in milliseconds. */
const retryMs = 1_000

/** The limits of the log of a build. Older lines are dropped, and the log shows that. */
export const keptOfBuild = { lines: 20_000, bytes: 8 * 2 ** 20 }

/**
 * The maximum number of waiting lines of one build. Their bytes are limited to those of a whole
 * log, because older lines would be dropped when they are written.
 */
const maxWaiting = 5_000

/** The longest message, in characters. Longer ones are cut. */
const maxMessage = 16 * 1024

/** A line as it is stored: the item of the log without its type and cursor. */
export type LoggedLine = Omit<BuildLogLine, 'type' | 'cursor'>

interface Waiting {
  readonly cursor: number
  readonly json: string
  readonly bytes: number
}

/** The log of one running build. */
class OpenLog {
  cursor = 0
  waiting: Waiting[] = []
  waitingBytes = 0
  /** The stored lines, oldest first, as cursor and size. */
  readonly stored: { readonly cursor: number; readonly bytes: number }[] = []
  storedBytes = 0
  /** The last dropped cursor. */
  dropped = 0
}

/**
 * The logs of builds, written in batches in the background. Each line has the next cursor of its
 * build, even if it is dropped. A gap between cursors is the number of lost lines. Readers do not
 * slow builds.
 */
export class BuildLogs {
  readonly #store: Store
  readonly #log: Log
  readonly #open = new Map<string, OpenLog>()
  readonly #readers = new Watchers()
  #timer: NodeJS.Timeout | null = null
  #flushing: Promise<void> = Promise.resolve()

  constructor(store: Store, log: Log) {
    this.#store = store
    this.#log = log
  }

  /** Adds a line to the log of a build that has not ended. */
  write(buildId: string, line: LoggedLine): void {
    const open = this.#open.get(buildId) ?? new OpenLog()
    this.#open.set(buildId, open)
    open.cursor += 1
    const { message } = line
    const cut = message.length > maxMessage ? `${message.slice(0, maxMessage)}... (cut)` : message
    const json = JSON.stringify({ ...line, message: cut.toWellFormed() })
    const bytes = Buffer.byteLength(json)
    open.waiting.push({ cursor: open.cursor, json, bytes })
    open.waitingBytes += bytes
    dropExcess(open)
    this.#flushIn(flushMs)
  }

  /** Returns up to `limit` lines of a project's build after a cursor, oldest first. */
  async read(
    of: BuildRef,
    { after, limit }: { after: number; limit: number },
  ): Promise<readonly { readonly cursor: number; readonly line: LoggedLine }[]> {
    const lines = this.#linesOf(of).where('build_logs.cursor', '>', after)
    return parsed(await lines.orderBy('build_logs.cursor').limit(limit).execute())
  }

  /** Returns up to `limit` lines of a project's build before a cursor, newest first. */
  async readBack(
    of: BuildRef,
    { before, limit }: { before: number; limit: number },
  ): Promise<readonly { readonly cursor: number; readonly line: LoggedLine }[]> {
    const lines = this.#linesOf(of).where('build_logs.cursor', '<', before)
    return parsed(await lines.orderBy('build_logs.cursor', 'desc').limit(limit).execute())
  }

  #linesOf({ projectId, buildId }: BuildRef) {
    return this.#store.db
      .selectFrom('build_logs')
      .innerJoin('builds', 'builds.build_id', 'build_logs.build_id')
      .select(['build_logs.cursor', 'build_logs.line_json'])
      .where('builds.project_id', '=', projectId)
      .where('build_logs.build_id', '=', buildId)
  }

  /** Calls `onChange` for every change of a build, until the result is disposed of. */
  watch(buildId: string, onChange: () => void): Disposable {
    return this.#readers.watch(buildId, onChange)
  }

  /** Notifies readers of a change of a build. */
  notify(buildId: string): void {
    this.#readers.notify(buildId)
  }

  /**
   * Writes the waiting lines. Lines that the store refuses twice wait for the next call, which
   * comes by itself after a pause.
   */
  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#flushing = this.#flushing.then(() => this.#write())
    await this.#flushing
  }

  /** Writes the waiting lines of an ended build, and forgets it. */
  async close(buildId: string): Promise<void> {
    await this.flush()
    this.#open.delete(buildId)
  }

  #flushIn(ms: number): void {
    this.#timer ??= setTimeout(() => void this.flush(), ms).unref()
  }

  async #write(): Promise<void> {
    for (const [buildId, open] of this.#open) {
      if (open.waiting.length === 0) continue
      const isWritten = (await this.#writeOf(buildId, open)) || (await this.#writeOf(buildId, open))
      if (!isWritten) this.#flushIn(retryMs)
      this.notify(buildId)
    }
  }

  /** Writes the waiting lines of a build. Returns false if the store refuses them. */
  async #writeOf(buildId: string, open: OpenLog): Promise<boolean> {
    const batch = open.waiting
    open.waiting = []
    open.waitingBytes = 0
    const room = roomFor(open, batch)
    try {
      await this.#store.change(aloneWithRow, (changes) => store(changes, { buildId, batch, room }))
    } catch (error) {
      // A build does not fail because its log cannot be written.
      this.#log.warn({ err: error, build_id: buildId, lines: batch.length }, 'the log of a build could not be written')
      open.waiting = [...batch, ...open.waiting]
      open.waitingBytes = sizeOf(open.waiting)
      dropExcess(open)
      return false
    }
    for (const { cursor, bytes } of batch) open.stored.push({ cursor, bytes })
    open.stored.splice(0, room.removed)
    open.storedBytes = room.bytes
    open.dropped = room.dropped
    return true
  }
}

function parsed(rows: readonly { readonly cursor: number; readonly line_json: string }[]) {
  return rows.map(({ cursor, line_json }) => ({ cursor, line: JSON.parse(line_json) as LoggedLine }))
}

/** Drops the oldest waiting lines of a build above the limits. */
function dropExcess(open: OpenLog): void {
  while (open.waiting.length > maxWaiting || open.waitingBytes > keptOfBuild.bytes)
    open.waitingBytes -= open.waiting.shift()?.bytes ?? 0
}

/** The lines to remove so that a batch has room. */
interface Room {
  /** The number of the oldest lines that are removed, those of the batch included. */
  readonly removed: number
  /** The cursor up to which lines are removed. */
  readonly dropped: number
  /** The bytes of the lines that are left. */
  readonly bytes: number
}

function roomFor({ stored, storedBytes, dropped }: OpenLog, batch: readonly Waiting[]): Room {
  const room = { removed: 0, dropped, bytes: storedBytes + sizeOf(batch) }
  const lines = stored.length + batch.length
  while (lines - room.removed > keptOfBuild.lines || room.bytes > keptOfBuild.bytes) {
    const line = stored[room.removed] ?? batch[room.removed - stored.length]
    room.bytes -= line?.bytes ?? 0
    room.dropped = line?.cursor ?? room.dropped
    room.removed += 1
  }
  return room
}

function sizeOf(lines: readonly Waiting[]): number {
  return lines.reduce((sum, { bytes }) => sum + bytes, 0)
}

interface Batch {
  readonly buildId: string
  readonly batch: readonly Waiting[]
  readonly room: Room
}

async function store(changes: Queries, { buildId, batch, room: { dropped, bytes } }: Batch): Promise<void> {
  const build = changes.selectFrom('builds').select('build_id').where('build_id', '=', buildId)
  // A build whose row is gone meanwhile has nobody to read it.
  if ((await build.executeTakeFirst()) === undefined) return
  const rows = batch
    .filter(({ cursor }) => cursor > dropped)
    .map(({ cursor, json }) => ({ build_id: buildId, cursor, line_json: json }))
  for (const some of batches(rows)) {
    await changes
      .insertInto('build_logs')
      .values(some)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
  await changes.deleteFrom('build_logs').where('build_id', '=', buildId).where('cursor', '<=', dropped).execute()
  await changes
    .updateTable('builds')
    .set({ log_cursor: batch.at(-1)?.cursor ?? dropped, log_bytes: bytes })
    .where('build_id', '=', buildId)
    .execute()
}
