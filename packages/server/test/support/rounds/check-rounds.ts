import { expect, vi } from 'vitest'
import type { RuntimeRow } from '../../../src/foundation/store/tables.ts'
import type { TestHost } from '../fleet.ts'
import { type Books, checkBooks } from './check-books.ts'
import type { RoundsFleet } from './rounds-fleet.ts'

/**
 * Checks that at most one host lets a runtime speak, and none one that has ended. The rows are read
 * first: what they say, somebody may have been told.
 */
export async function checkVoices(fleet: RoundsFleet): Promise<void> {
  for (const { runtime_id, state, ended_at } of await fleet.runtimeRows()) {
    const speaking = fleet.hosts.filter((host) => fleet.speaks(host, runtime_id)).map(({ hostId }) => hostId)
    if (speaking.length > (ended_at === null ? 1 : 0))
      throw new Error(`${runtime_id} is ${state} and speaks through ${speaking.join(' and ')}`)
  }
}

/** Checks a healed fleet: its books, what its engines run, and who speaks. */
export async function checkRound(books: Books<RoundsFleet>): Promise<void> {
  // A host believes a key for less than a second.
  for (const { clock } of books.fleet.hosts) clock.ms += 1_000
  const rows = await checkBooks(books)
  await checkEngines(books.fleet, rows)
  await checkVoices(books.fleet)
}

/** Checks that engines run what the rows say, and nothing else. */
async function checkEngines({ hosts }: RoundsFleet, rows: readonly RuntimeRow[]): Promise<void> {
  const runsOf = async ({ engine, hostId }: TestHost) => {
    const running: string[] = []
    for (const { runtime_id } of rows)
      if ((await engine.inspect(runtime_id))?.state === 'running') running.push(`${runtime_id} on ${hostId}`)
    return running
  }
  const wanted = rows.flatMap(({ runtime_id, host_id, state }) =>
    state === 'running' ? [`${runtime_id} on ${host_id}`] : [],
  )
  await vi.waitFor(async () => expect((await Promise.all(hosts.map(runsOf))).flat().sort()).toEqual(wanted.sort()), {
    timeout: 20_000,
    interval: 50,
  })
}
