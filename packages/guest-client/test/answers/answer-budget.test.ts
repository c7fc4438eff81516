import { PassThrough } from 'node:stream'
import type { GuestLink } from '@holt/engine'
import { expect, test } from 'vitest'
import { GuestClient } from '../../src/index.ts'

const signal = new AbortController().signal

/** A guest whose answers never end; `bodies` has what it may write. */
function endlessGuest() {
  const bodies: PassThrough[] = []
  const link: GuestLink = {
    connected: true,
    request: async () => {
      const body = new PassThrough()
      body.on('error', () => {}) // The reader gives up.
      bodies.push(body)
      return { status: 200, headers: {}, body }
    },
  }
  return { link, bodies }
}

async function feed(body: PassThrough, mebibytes: number): Promise<void> {
  const closed = new Promise((resolve) => body.once('close', resolve))
  for (let sent = 0; sent < mebibytes && !body.destroyed; sent += 1) {
    if (body.write(Buffer.alloc(2 ** 20, ' '))) continue
    await Promise.race([new Promise((resolve) => body.once('drain', resolve)), closed])
  }
}

test('limits the bytes of all unfinished answers of a guest, and releases them', async () => {
  const { link, bodies } = endlessGuest()
  const asked = Array.from({ length: 8 }, () => new GuestClient(link).info(signal))
  const ends = Promise.allSettled(asked)
  await expect.poll(() => bodies.length).toBe(8)
  await Promise.all(bodies.map((body) => feed(body, 20)))
  const refused = bodies.filter((body) => body.destroyed)
  expect(refused.length).toBeGreaterThanOrEqual(5)
  for (const body of bodies) body.end()
  expect((await ends).every((end) => end.status === 'rejected' && end.reason.kind === 'failed')).toBe(true)

  const listing = new GuestClient(link).processes.list(signal)
  await expect.poll(() => bodies.length).toBe(9)
  await feed(bodies[8] as PassThrough, 30)
  bodies[8]?.end('{"processes":[]}')
  await expect(listing).resolves.toEqual([])
})
