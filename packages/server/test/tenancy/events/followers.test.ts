import { setTimeout as sleep } from 'node:timers/promises'
import { KeyedLock } from '@holt/async'
import { expect, onTestFinished, test, vi } from 'vitest'
import { aloneWith, aloneWithRow } from '../../../src/foundation/store/alone.ts'
import { eventItems } from '../../../src/tenancy/events/event-items.ts'
import { EventNotifier } from '../../../src/tenancy/events/event-notifier.ts'
import { Followers } from '../../../src/tenancy/events/followers.ts'
import { recordEvent } from '../../../src/tenancy/events/record-event.ts'
import { ensureDefaultProject } from '../../../src/tenancy/keys/bootstrap.ts'
import type { Tenancy } from '../../../src/tenancy/tenancy.ts'
import { makeProject } from '../../support/own-project.ts'
import { type ItemReader, readItems } from '../../support/read-items.ts'
import { startTestServer } from '../../support/start-test-server.ts'
import { openTestStore } from '../../support/test-store.ts'

async function openLog() {
  const eventNotifier = new EventNotifier()
  const store = eventNotifier.notifyAfterCommits(await openTestStore())
  const projectId = await ensureDefaultProject(store, 1)
  const leave = new AbortController()
  onTestFinished(async () => {
    leave.abort()
    await store.close()
  })
  const service = { store, eventNotifier, followers: new Followers(), reads: new KeyedLock() } as unknown as Tenancy
  return {
    store,
    follow: (cursor = 0) => eventItems(service, { projectId }, { cursor, follow: true, gone: leave.signal }),
    write: (count: number) =>
      store.change(aloneWith(projectId), async (changes) => {
        for (let at = 0; at < count; at += 1)
          await recordEvent(changes, { projectId, type: 'key.revoked', subjectId: projectId, data: {}, at })
      }),
  }
}

test('new events are read once for all followers of a log', async () => {
  const { store, follow, write } = await openLog()
  await write(1)
  const streams = Array.from({ length: 100 }, () => follow())
  await Promise.all(streams.map((stream) => stream.next()))
  const next = streams.map((stream) => stream.next())
  await sleep(100) // They wait for what comes.
  const reads = vi.spyOn(store.db, 'selectFrom')
  await write(1)
  expect((await Promise.all(next)).map(({ value }) => value?.cursor)).toEqual(streams.map(() => 2))
  expect(reads.mock.calls.length).toBeLessThan(20)
})

test('a long log is read in small pages unless a client reads more', async () => {
  const { store, follow, write } = await openLog()
  await write(300)
  const stream = follow()
  const { value } = await stream.next()
  expect(value?.cursor).toBe(1)
  await store.change(aloneWithRow, (changes) => changes.deleteFrom('events').where('cursor', '>', 50).execute())
  const cursors = []
  for (let count = 0; count < 49; count += 1) cursors.push((await stream.next()).value?.cursor)
  expect(cursors).toEqual(Array.from({ length: 49 }, (_, index) => index + 2))
  await write(1)
  expect((await stream.next()).value).toMatchObject({ type: 'key.revoked', cursor: 301 })
})

test('a slow follower gets everything in order, including new events', async () => {
  const { follow, write } = await openLog()
  await write(120)
  const stream = follow()
  const cursors = []
  for (let count = 0; count < 130; count += 1) {
    if (count === 60) await write(10)
    cursors.push((await stream.next()).value?.cursor)
  }
  expect(cursors).toEqual(Array.from({ length: 130 }, (_, index) => index + 1))
})

test('the streams of a project are limited, and another project has its own limit', async () => {
  const server = await startTestServer()
  const other = await makeProject(server, 'other')
  const path = '/v1/agents/event?follow=true'
  const streams: ItemReader[] = []
  onTestFinished(async () => void (await Promise.all(streams.map((stream) => stream[Symbol.asyncDispose]()))))
  for (let count = 0; count < 128; count += 1) streams.push(await readItems(server, path))
  const refused = await server.ask('GET', path)
  expect([refused.status, refused.json.error.code]).toEqual([429, 'quota_exceeded'])
  streams.push(await readItems(server, path, other.key))
  expect((await server.ask('GET', '/v1/agents/event')).status).toBe(200)
  await streams.shift()?.[Symbol.asyncDispose]()
  await expect
    .poll(async () =>
      readItems(server, path)
        .then((stream) => streams.push(stream))
        .catch(() => 0),
    )
    .toBeGreaterThan(0)
}, 60_000)
