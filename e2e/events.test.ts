import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Event, Holt } from '@holt/sdk'
import { expect, it, onTestFinished } from 'vitest'
import { crash, restart, restartWith } from './support/crash.ts'
import { service } from './support/facts.ts'
import { until } from './support/until.ts'

// The log of events is followed, and sent to a webhook, while the daemon is killed again and again.

const rounds = 3
const clients = 4
const timeoutMs = 300_000

/** Webhooks may go to loopback, where the receiver of this test is. */
const settings = { HOLT_EGRESS_ALLOWED_NETWORKS: '127.0.0.0/8' }

/** Makes policies until it is told to stop; what the daemon took down with it is sent again. */
async function makePolicies(holt: Holt, made: string[], stop: AbortSignal): Promise<void> {
  const name = `e${randomUUID().slice(0, 8)}`
  for (let count = 0; !stop.aborted; count += 1) {
    try {
      made.push((await holt.policies.create({ name: `${name}-${count}`, include: ['npm'] })).policy_id)
    } catch {
      // The daemon is gone: whether it has made this one is what the log says.
      await sleep(20)
    }
  }
}

it(
  'followers and webhooks miss no event over a kill -9, and followers see none twice',
  async () => {
    const received: { id: string; cursor: number }[] = []
    const receiver = createServer(async (request, response) => {
      const { data } = JSON.parse(await textOf(request))
      received.push({ id: String(request.headers['webhook-id']), cursor: data.cursor })
      response.writeHead(204).end()
    }).listen(0, '127.0.0.1')
    onTestFinished(async () => {
      receiver.close()
      receiver.closeAllConnections()
      await restartWith({})
    })
    await restartWith(settings)
    const holt = new Holt({ url: service.url, apiKey: service.key })
    const { last_cursor: begin } = await holt.events.page({ order: 'desc', limit: 1 })
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
    const { webhook_id } = await holt.webhooks.create({ url, types: ['policy.*'] })
    const seen: Event[] = []
    const stop = new AbortController()
    const following = (async () => {
      for await (const item of holt.events.follow({ cursor: begin, signal: stop.signal })) {
        if (item.type === 'dropped') throw new Error(JSON.stringify(item))
        seen.push(item)
      }
    })()
    let failure: unknown = null
    following.catch((error: unknown) => {
      failure = error
    })

    const acknowledged: string[] = []
    for (let round = 0; round < rounds; round += 1) {
      const enough = new AbortController()
      const before = acknowledged.length
      const client = new Holt({ url: service.url, apiKey: service.key, maxRetries: 0 })
      const work = Array.from({ length: clients }, () => makePolicies(client, acknowledged, enough.signal))
      await until('something is made', async () => acknowledged.length > before + 10, 60_000)
      await sleep(Math.random() * 100)
      await crash()
      enough.abort()
      await Promise.all(work)
      await restart(settings)
    }

    const { last_cursor: end } = await holt.events.page({ order: 'desc', limit: 1 })
    const followed = async () => {
      if (failure !== null) throw failure
      return (seen.at(-1)?.cursor ?? 0) >= end
    }
    await until('the follower has everything', followed, 60_000)
    stop.abort(new Error('enough'))
    await expect(following).rejects.toThrow('enough')
    expect(seen.map(({ cursor }) => cursor)).toEqual(seen.map((_, index) => begin + index + 1))
    expect(seen).toEqual((await holt.events.list({ cursor: begin, limit: 100 }).all()).slice(0, seen.length))
    const created = seen.filter(({ type }) => type === 'policy.created')
    expect(created.map(({ subject }) => subject.id)).toEqual(expect.arrayContaining(acknowledged))

    const expected = created.map(({ event_id }) => event_id)
    await until(
      'the webhook has everything',
      async () => new Set(received.map(({ id }) => id)).size >= expected.length,
      60_000,
    )
    // Something may come twice, after a kill; what comes for the first time comes in order.
    expect([...new Set(received.map(({ id }) => id))]).toEqual(expected)
    await holt.webhooks.delete(webhook_id)
    for (const { policy_id } of await holt.policies.list({ limit: 100 }).all())
      if (created.some(({ subject }) => subject.id === policy_id)) await holt.policies.delete(policy_id)
  },
  timeoutMs,
)
