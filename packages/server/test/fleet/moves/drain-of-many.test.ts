import { byLength } from '@holt/testkit'
import { expect, test, vi } from 'vitest'
import { hostRow, type TestHost } from '../../support/fleet.ts'
import { runtimePath as path, rowOf, startMovingFleet } from '../../support/moving-fleet.ts'
import { readItems } from '../../support/read-items.ts'

// A host is drained while all of its runtimes are in use. Each gets input and sends it back. Two
// clients follow the output, one through each host.

const size = byLength({ short: 8, long: 50, soak: 50 })

const patience = { timeout: 180_000, interval: 20 }

/** A runtime with a program that repeats its input. */
interface Busy {
  readonly id: string
  readonly command: string
  /** The text that the program has got. */
  sent: string
}

/** Sends lines until `isOver`, each exactly once: its offset says what the program has already. */
async function feed(host: TestHost, busy: Busy, isOver: () => boolean): Promise<void> {
  for (let count = 1; !isOver(); count += 1) {
    const data = `${busy.id} ${count}\n`
    const json = { data, offset: busy.sent.length }
    const target = `${path}/${busy.id}/commands/${busy.command}/stdin`
    await vi.waitUntil(async () => (await host.server.ask('POST', target, { json })).status === 200, patience)
    busy.sent += data
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Follows the output until it has all that `wanted` returns, and returns it. */
async function follow(host: TestHost, { id, command }: Busy, wanted: () => string | null): Promise<string> {
  let text = ''
  let cursor = 0
  for (;;) {
    try {
      await using items = await readItems(
        host.server,
        `${path}/${id}/commands/${command}/output?follow=true&cursor=${cursor}`,
      )
      for (let item = await items.next(); item !== undefined; item = await items.next()) {
        if (item.type === 'stdout') {
          text += item.data
          cursor = item.cursor
        }
        if (item.type === 'end' || item.type === 'dropped') throw new Error(`${id} sent ${JSON.stringify(item)}`)
        if (text === wanted()) return text
      }
    } catch (error) {
      // A runtime that has just left answers 503, or its stream ends. Clients ask again.
      if (!/"unavailable"|terminated|fetch failed/.test(String(error))) throw error
    }
  }
}

test(`a drain of ${size} busy runtimes loses no byte of their followers`, async () => {
  const fleet = await startMovingFleet(2)
  const [one, two] = fleet.hosts as [TestHost, TestHost]
  const all: Busy[] = []
  while (all.length < size) {
    const id = await one.server.makeRuntime()
    const json = { argv: ['cat'], stdin: true, background: true }
    const started = await one.server.ask('POST', `${path}/${id}/commands`, { json })
    all.push({ id, command: started.json.command_id, sent: '' })
  }
  let isOver = false
  const fed = all.map((busy, at) => feed(fleet.hosts[at % 2] as TestHost, busy, () => isOver))
  let isFed = false
  const followed = all.flatMap((busy) =>
    fleet.hosts.map((host) => follow(host, busy, () => (isFed ? busy.sent : null))),
  )
  const drained = await two.server.ask('POST', `/v1/agents/host/${one.hostId}/drain`, { json: {} })
  expect(drained.json).toMatchObject({ drains: true, moving: size })
  await vi.waitUntil(async () => (await hostRow(fleet.store, one)).state === 'cordoned', patience)
  for (const { id } of all) await vi.waitUntil(async () => (await rowOf(fleet, id)).host_id === two.hostId, patience)
  isOver = true
  await Promise.all(fed)
  isFed = true
  // The last line reaches followers that have everything else already.
  const last = 'end\n'
  const offsets = all.map((busy) => busy.sent.length)
  for (const busy of all) busy.sent += last
  for (const [at, { id, command }] of all.entries()) {
    const json = { data: last, offset: offsets[at] }
    await two.server.ask('POST', `${path}/${id}/commands/${command}/stdin`, { json })
  }
  for (const [at, text] of (await Promise.all(followed)).entries()) {
    const { id, sent } = all[Math.floor(at / 2)] as Busy
    expect(text).toBe(sent)
    expect(text.split('\n').slice(0, -2)).toEqual(
      Array.from({ length: text.split('\n').length - 2 }, (_, line) => `${id} ${line + 1}`),
    )
  }
}, 300_000)
