import { expect, vi } from 'vitest'
import type { RuntimeRow } from '../../../src/foundation/store/tables.ts'
import { inside } from '../inside.ts'
import { passingStates } from '../passing-states.ts'
import type { RoundsEntries, RoundsEntry } from './rounds-client.ts'
import type { LastingState, RoundsLedger } from './rounds-ledger.ts'

const runtimesPath = '/v1/agents/runtime'

/** A fleet whose answers and rows are checked. */
export interface CheckedFleet extends RoundsEntries {
  /** The time for everything that follows a fault, in milliseconds. */
  readonly patienceMs: number
  /** Returns the rows of all runtimes that the clients may know. */
  runtimeRows(): Promise<readonly RuntimeRow[]>
}

/** An event, as far as every check knows it. */
export interface KnownEvent {
  readonly event_id: string
  readonly cursor: number
  readonly type: string
  readonly subject: { readonly id: string }
}

/** The parts of a check. */
export interface Books<Fleet extends CheckedFleet = CheckedFleet> {
  readonly fleet: Fleet
  readonly ledger: RoundsLedger
  /** The hosts that were silent for the time of a verdict, in this round or an earlier one. */
  readonly judged: ReadonlySet<string>
  /** The events that were read in earlier rounds. */
  readonly events: KnownEvent[]
}

/**
 * Checks that all facts of the ledger hold on all hosts of a healed fleet, and that nothing else is
 * there. Returns the rows of runtimes, which are at rest. A key was revoked a second ago at least.
 */
export async function checkBooks(books: Books): Promise<readonly RuntimeRow[]> {
  await sendAgain(books)
  const rows = await atRest(books.fleet)
  checkFacts(books, rows)
  checkNames(rows)
  await checkLists(books.fleet)
  await checkEvents(books, rows)
  await checkInside(books, rows)
  await checkKeys(books)
  const { revisions } = books.ledger
  expect(new Set(revisions).size, 'each revision of the policy was acknowledged once').toBe(revisions.length)
  return rows
}

/** Learns what became of creates without an answer: the same keys bring the same runtimes. */
async function sendAgain({ fleet, ledger }: Books): Promise<void> {
  for (const { path, json, key } of ledger.creates.splice(0)) {
    const made = new Set<string>()
    for (const { server } of fleet.hosts) {
      const answer = await vi.waitUntil(
        async () => {
          const tried = await server.ask('POST', path, { json, headers: { 'idempotency-key': key } })
          return tried.status === 503 || tried.json?.error?.code === 'idempotency_in_progress' ? null : tried
        },
        { timeout: fleet.patienceMs, interval: 50 },
      )
      // Another create has the name, or the project has as much as it may.
      if (answer.status === 409 || answer.json?.error?.code === 'quota_exceeded') continue
      expect(answer.status, answer.text).toBe(201)
      made.add(answer.json.runtime_id)
      ledger.addRuntime(answer.json.runtime_id)
    }
    expect(made.size, `runtimes of one key: ${[...made].join(' ')}`).toBeLessThanOrEqual(1)
  }
}

/** Waits until no runtime is in a state that passes, and returns the rows. */
function atRest(fleet: CheckedFleet): Promise<readonly RuntimeRow[]> {
  return vi.waitUntil(
    async () => {
      const rows = await fleet.runtimeRows()
      return rows.some(({ state }) => passingStates.includes(state)) ? null : rows
    },
    { timeout: fleet.patienceMs, interval: 20 },
  )
}

function checkFacts({ ledger, judged }: Books, rows: readonly RuntimeRow[]): void {
  const byId = new Map(rows.map((row) => [row.runtime_id as string, row]))
  for (const { id, state } of ledger.runtimes.values()) {
    const row = byId.get(id)
    if (row === undefined) throw new Error(`${id} was acknowledged, and has no row`)
    const isLost = row.state === 'failed' && row.state_reason_json?.includes('"host_lost"') === true
    if (isLost && judged.has(row.host_id ?? '')) state.mayBecome(() => 'failed')
    state.is(row.state as LastingState)
  }
  for (const row of rows)
    if (!ledger.runtimes.has(row.runtime_id)) expect(row.state, `nobody knows of ${row.runtime_id}`).toBe('failed')
}

function checkNames(rows: readonly RuntimeRow[]): void {
  const names = rows.flatMap(({ name, ended_at }) => (name === null || ended_at !== null ? [] : [name]))
  expect(new Set(names).size, 'live runtimes have different names').toBe(names.length)
}

/** Checks that all hosts list the same runtimes. */
async function checkLists({ hosts }: CheckedFleet): Promise<void> {
  const lists = await Promise.all(hosts.map(({ server }) => readAll(server.ask, runtimesPath)))
  for (const list of lists) expect(list).toEqual(lists[0])
}

async function readAll(ask: RoundsEntry['server']['ask'], path: string): Promise<readonly object[]> {
  const items: object[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { json, status, text } = await ask('GET', `${path}?limit=100${cursor === '' ? '' : `&cursor=${cursor}`}`)
    expect(status, text).toBe(200)
    items.push(...json.data)
    cursor = json.next_cursor
  }
  return items
}

/** Checks that events have no gap, stay, and are the same on all hosts. */
async function checkEvents({ fleet, ledger, events }: Books, rows: readonly RuntimeRow[]): Promise<void> {
  for (const { server } of fleet.hosts) {
    const { json } = await server.ask('GET', `/v1/agents/event?limit=100&cursor=${Math.max(0, events.length - 1)}`)
    const [known, ...fresh] = events.length === 0 ? [undefined, ...json.data] : json.data
    if (known !== undefined) expect(known).toEqual(events.at(-1))
    let read = fresh
    for (let next = json.next_cursor; next !== null && read.length % 100 >= 99; ) {
      const page = (await server.ask('GET', `/v1/agents/event?limit=100&cursor=${next}`)).json
      read = [...read, ...page.data]
      next = page.data.length === 0 ? null : page.next_cursor
    }
    events.push(...read)
  }
  expect(events.map(({ cursor }) => cursor)).toEqual(events.map((_, index) => index + 1))
  const ends = new Map<string, number>()
  for (const event of events)
    if (event.type === 'runtime.terminated') ends.set(event.subject.id, (ends.get(event.subject.id) ?? 0) + 1)
  for (const { runtime_id, state } of rows)
    if (ledger.runtimes.has(runtime_id))
      expect([runtime_id, ends.get(runtime_id) ?? 0]).toEqual([runtime_id, state === 'terminated' ? 1 : 0])
}

/** Checks that each runtime that runs answers through each host, and has its files. */
async function checkInside({ fleet, ledger }: Books, rows: readonly RuntimeRow[]): Promise<void> {
  for (const { runtime_id, state } of rows) {
    if (state !== 'running') continue
    for (const { server } of fleet.hosts) {
      const at = inside(server)
      expect(await at.run(runtime_id, 'echo', runtime_id)).toBe(`${runtime_id}\n`)
      for (const [path, fact] of ledger.runtimes.get(runtime_id)?.files ?? []) fact.is(await at.read(runtime_id, path))
    }
  }
}

/** Checks that revoked keys open nothing on any host, and that valid ones do everywhere. */
async function checkKeys({ fleet, ledger }: Books): Promise<void> {
  for (const [key, { id, state }] of ledger.keys) {
    const statuses = await Promise.all(
      fleet.hosts.map(async ({ server }) => (await server.ask('GET', runtimesPath, { key })).status),
    )
    const seen = statuses.map((status) => (status === 200 ? 'valid' : 'revoked'))
    for (const one of seen) expect([id, one]).toEqual([id, seen[0]])
    if (seen[0] !== undefined) state.is(seen[0])
  }
}
