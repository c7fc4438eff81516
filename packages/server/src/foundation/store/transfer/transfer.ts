import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { version as holt } from '../../config/version.ts'
import { recordsPurpose } from '../../rows/kept-answers.ts'
import { type MasterKeysPlace, masterKeysPath } from '../../sealing/master-key-file.ts'
import { refuseNewer } from '../migrations/refuse-newer.ts'
import type { StorePlace } from '../open-store.ts'
import { type DumpLine, type DumpRow, decodeDump, dumpVersion, encodeDump } from './dump-format.ts'
import { type HistoryTable, tablesOf } from './history-tables.ts'

/** A store as it was at one moment. */
export interface StoreReader {
  /** The version of its schema. */
  readonly version: number
  /** Returns a table's rows, ordered by its primary key. */
  rows(table: HistoryTable): AsyncIterable<DumpRow>
  /** Returns the last number that a table has counted to; 0 if there is none. */
  counter(table: HistoryTable): Promise<number>
  close(): Promise<void>
}

/** An empty store that an import fills completely or, with `abort`, not at all. */
export interface StoreWriter {
  /** Makes the tables of a schema version. */
  begin(schema: number): Promise<void>
  /** Inserts rows of one table that have the same columns. */
  insert(table: HistoryTable, rows: readonly DumpRow[]): Promise<void>
  setCounter(table: HistoryTable, last: number): Promise<void>
  /** Migrates the imported rows to the newest schema, and keeps them. */
  finish(): Promise<void>
  abort(): Promise<void>
}

/** The number of rows in one insert. */
const batchRows = 100

/**
 * Writes everything that a store has at this moment, as lines of JSON. Does not block a running
 * daemon.
 */
export async function* exportStore(place: StorePlace, now: number): AsyncGenerator<string> {
  const reader = await openReader(place)
  try {
    const header = { format: 'holt-store', version: dumpVersion, schema: reader.version, holt } as const
    yield* encodeDump({ ...header, created_at: new Date(now).toISOString() }, linesOf(reader))
  } finally {
    await reader.close()
  }
}

/** The result of an import. */
export interface Imported {
  readonly rows: number
  /** The version of the schema that the dump had. */
  readonly schema: number
  /** The number of webhooks that were active in the dump and are disabled now. */
  readonly disabledWebhooks: number
}

/** The input of an import. */
export interface ImportOptions extends MasterKeysPlace {
  readonly dump: AsyncIterable<Uint8Array>
  /**
   * True if webhooks continue to send, because the store of the dump no longer does. By default
   * they are disabled.
   */
  readonly keepWebhooks?: boolean
}

/**
 * Fills an empty store from a dump of this schema or an earlier one. Keeps nothing of an incomplete
 * dump. Sealed values stay sealed: the import is refused if the state directory lacks the master
 * keys that open them.
 */
export async function importStore(
  place: StorePlace,
  { dump, keepWebhooks = false, ...keys }: ImportOptions,
): Promise<Imported> {
  const writer = await openWriter(place)
  try {
    const { header, lines } = await decodeDump(dump)
    refuseNewer(header.schema)
    await writer.begin(header.schema)
    const tables = new Map(tablesOf(header.schema).map((one) => [one.name, one]))
    const { rows, masterKeys, disabledWebhooks } = await takeIn(writer, { tables, lines, keepWebhooks })
    await requireMasterKeys(masterKeysPath(keys), masterKeys)
    await writer.finish()
    return { rows, schema: header.schema, disabledWebhooks }
  } catch (error) {
    await writer.abort()
    throw error
  }
}

async function openReader(place: StorePlace): Promise<StoreReader> {
  if (place.type === 'sqlite') return (await import('./sqlite-transfer.ts')).readSqlite(place.path)
  return (await import('./postgres-transfer.ts')).readPostgres(place.url)
}

async function openWriter(place: StorePlace): Promise<StoreWriter> {
  if (place.type === 'sqlite') return (await import('./sqlite-transfer.ts')).writeSqlite(place.path)
  return (await import('./postgres-transfer.ts')).writePostgres(place.url)
}

async function* linesOf(reader: StoreReader): AsyncGenerator<DumpLine> {
  for (const table of tablesOf(reader.version)) {
    for await (const row of reader.rows(table)) yield { table: table.name, row: { ...row } }
    if (table.counter !== null) yield { table: table.name, counter: await reader.counter(table) }
  }
}

interface TakenIn {
  readonly rows: number
  readonly masterKeys: ReadonlySet<string>
  readonly disabledWebhooks: number
}

interface Incoming {
  readonly tables: ReadonlyMap<string, HistoryTable>
  readonly lines: AsyncIterable<DumpLine>
  readonly keepWebhooks: boolean
}

async function takeIn(writer: StoreWriter, { tables, lines, keepWebhooks }: Incoming): Promise<TakenIn> {
  const masterKeys = new Set<string>()
  let rows = 0
  let disabledWebhooks = 0
  let batch: { readonly table: HistoryTable; readonly rows: DumpRow[] } | null = null
  const flush = async () => {
    if (batch !== null) await insert(writer, batch.table, batch.rows)
    batch = null
  }
  for await (const line of lines) {
    const table = tables.get(line.table)
    if (table === undefined) throw new Error(`the dump has rows of ${line.table}, which its schema does not have`)
    if ('counter' in line) {
      await flush()
      await writer.setCounter(table, line.counter)
      continue
    }
    rows += 1
    // The keys of idempotency records are optional. Without them, repeats of the last day's
    // requests are refused.
    if (table.name === 'sealed_values' && line.row.purpose !== recordsPurpose)
      masterKeys.add(String(line.row.master_key_id))
    const sends = table.name === 'webhooks' && line.row.state === 'active' && !keepWebhooks
    if (sends) disabledWebhooks += 1
    const row = sends ? { ...line.row, ...disabled } : line.row
    if (batch !== null && (batch.table !== table || batch.rows.length >= batchRows || !alike(batch.rows[0], row)))
      await flush()
    batch ??= { table, rows: [] }
    batch.rows.push(row)
  }
  await flush()
  return { rows, masterKeys, disabledWebhooks }
}

/**
 * The columns of an imported webhook. The store may be a copy of one that is still in use, and
 * nobody outside should receive its events.
 */
const disabled = {
  state: 'disabled',
  state_reason_json: JSON.stringify({
    code: 'imported',
    message: 'It was imported. Enable it if this installation must send it.',
  }),
} as const

async function insert(writer: StoreWriter, table: HistoryTable, rows: readonly DumpRow[]): Promise<void> {
  try {
    await writer.insert(table, rows)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(`the dump is damaged: rows of ${table.name} do not belong there: ${why}`)
  }
}

function alike(one: DumpRow | undefined, other: DumpRow): boolean {
  return one === undefined || Object.keys(one).join() === Object.keys(other).join()
}

const MasterKeyIds = z.object({ keys: z.array(z.object({ id: z.string() })) })

async function requireMasterKeys(path: string, needed: ReadonlySet<string>): Promise<void> {
  if (needed.size === 0) return
  const text = await readFile(path, 'utf8').catch(() => '{"keys":[]}')
  const known = MasterKeyIds.parse(JSON.parse(text)).keys.map(({ id }) => id)
  const missing = [...needed].filter((id) => !known.includes(id))
  if (missing.length === 0) return
  throw new Error(
    `the dump has values that are sealed with the master key ${missing.join(', ')}: copy master-keys.json of its state directory to ${path} first`,
  )
}
