import { setImmediate } from 'node:timers/promises'
import type { Event } from '@holt/protocol'
import { expect, test } from 'vitest'
import { eventsAfter, eventsBefore, examinedEvents } from '../../../src/tenancy/events/read-events.ts'
import { lengthenLog } from '../../support/lengthen-log.ts'
import { plansOf } from '../../support/plans-of.ts'
import { startTestServer } from '../../support/start-test-server.ts'
import { tamper } from '../../support/test-store.ts'

const path = '/v1/agents/event'
const type = 'webhook.deleted'

/**
 * A server whose log is longer than what one query looks at, with two events of a type: near its
 * beginning, and its last one.
 */
async function setUp() {
  const first = await startTestServer()
  await first.makeKey('runtime:read')
  const { cursors, last } = await lengthenLog(first, { rare: type })
  return { server: await first.restart(), cursors, last }
}

test('rare event types are found in a long log, in short pages and in a stream', async () => {
  const { server, cursors, last } = await setUp()
  const pages = async (query: string) => {
    const found: Event[][] = []
    let cursor = '0'
    for (;;) {
      const { json } = await server.ask('GET', `${path}?type=${type}&cursor=${cursor}${query}`)
      found.push(json.data)
      if (json.next_cursor === null) return found.map((page) => page.map((event) => event.cursor))
      cursor = json.next_cursor
    }
  }
  expect(await pages('')).toEqual([[cursors[0]], [cursors[1]]])
  expect(await pages('&order=desc')).toEqual([[cursors[1]], [cursors[0]]])
  const page = (await server.ask('GET', `${path}?type=${type}`)).json
  expect(page.last_cursor).toBe(examinedEvents)
  const stream = await server.ask('GET', `${path}?type=${type}`, { headers: { accept: 'application/x-ndjson' } })
  const items = stream.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(items.map((item) => item.cursor)).toEqual([...cursors, last])
})

test('events that are removed while a page is read are reported as lost', async () => {
  const { server, cursors } = await setUp()
  const begin = cursors[0] as number
  const answers = []
  for (let turns = 0; turns < 60; turns += 1) {
    const cursor = begin + 100 * turns
    // Reads of a project wait for each other, and so its removal comes before, within or after the
    // second one.
    const longest = server.ask('GET', `${path}?type=${type}`)
    const asked = server.ask('GET', `${path}?type=project.updated&cursor=${cursor}&limit=1`)
    for (let turn = 0; turn < turns; turn += 1) await setImmediate()
    await tamper(server.stateDir, `UPDATE log_positions SET removed = ${cursor + 50} WHERE last > ${cursor + 50}`)
    await tamper(server.stateDir, `DELETE FROM events WHERE cursor <= ${cursor + 50}`)
    await longest
    const { status, json } = await asked
    answers.push(status === 200 ? json.data[0].cursor - cursor : json.error.code)
  }
  expect(answers.filter((answer) => answer !== 1 && answer !== 'cursor_expired')).toEqual([])
})

test('a filter by type uses an index and reads a bounded number of rows', async () => {
  const filter = { projectId: 'pr', types: ['runtime.running'] as const }
  const plans = await plansOf(async (db) => {
    await eventsAfter(db, filter, 5, 3)
    await eventsBefore(db, filter, 5, 3)
    await eventsAfter(db, { ...filter, subjectId: 'rt' }, 5, 3)
  })
  expect(plans).toEqual([
    expect.stringContaining('events_cursor (project_id=? AND cursor>? AND cursor<?'),
    expect.stringContaining('events_cursor (project_id=? AND cursor>? AND cursor<?'),
    expect.stringContaining('events_subject (project_id=? AND subject_id=? AND cursor>? AND cursor<?'),
  ])
})
