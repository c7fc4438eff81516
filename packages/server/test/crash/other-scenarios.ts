import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import type { ServerConfig } from '../../src/index.ts'
import type { Scenario } from '../support/fail-everywhere.ts'
import type { TestServer } from '../support/start-test-server.ts'
import { tarOf } from '../support/tar-of.ts'
import { storedRows } from '../support/test-store.ts'

const runtimes = '/v1/agents/runtime'
const templates = '/v1/agents/template'

/** A stored policy, and a runtime that has it. */
interface Ruled {
  readonly policy: string
  readonly runtime: string
}

const policy: Scenario<Ruled> = {
  name: 'a policy is in force as it is stored',
  parts: ['policy'],
  prepare: async (server) => {
    const name = `p-${crypto.randomUUID()}`
    const allow = [{ host: 'first.example.com' }]
    expect((await server.ask('POST', '/v1/agents/network-policy', { json: { name, allow } })).status).toBe(201)
    return { policy: name, runtime: await server.makeRuntime({ network_policy: name }) }
  },
  act: (server, { policy }) =>
    server.ask('PUT', `/v1/agents/network-policy/${policy}`, { json: { allow: [{ host: 'second.example.com' }] } }),
  afterFailure: async (server, { policy, runtime }) => {
    const { allow } = (await server.ask('GET', `/v1/agents/network-policy/${policy}`)).json
    const stored = allow.map(({ host }: { host: string }) => host)
    await expect.poll(() => server.gateway.of(runtime)?.hosts).toEqual(stored)
  },
  check: async (server, { policy, runtime }, { again }) => {
    expect(again.status, again.text).toBe(200)
    expect(server.gateway.of(runtime)?.hosts).toEqual(['second.example.com'])
    await server.ask('DELETE', `${runtimes}/${runtime}`)
    expect((await server.ask('DELETE', `/v1/agents/network-policy/${policy}`)).status).toBe(204)
  },
}

/**
 * One waits, however many were asked for of late: a pool that grows shrinks again after minutes
 * only.
 */
const pooled = { pools: { floor: 1, ceiling: 1 } } as ServerConfig

/** Waits until a runtime waits to be claimed. */
async function filled({ ask }: TestServer): Promise<void> {
  const ready = async () =>
    /^holt_pool_members\{.*state="ready".*\} (\d+)$/m.exec((await ask('GET', '/metrics')).text)?.[1]
  await expect.poll(ready, { timeout: 25_000, interval: 20 }).toBe('1')
}

/** Has a runtime that waits end by itself: it goes, and another comes. */
async function replaced(server: TestServer): Promise<void> {
  await filled(server)
  for (const { runtime_id: id } of await storedRows(server.stateDir, 'SELECT runtime_id FROM pool_members')) {
    if ((await server.engine.inspect(id)) === null) continue // A removal that failed has left its row.
    server.engine.end(id, { reason: 'crashed', message: '' })
    await expect.poll(() => server.engine.inspect(id), { timeout: 25_000, interval: 20 }).toBeNull()
  }
  await filled(server)
}

const claim: Scenario<string> = {
  name: 'a create that takes a runtime out of a pool makes one or none, and the pool is filled again',
  parts: ['claim', 'pool'],
  options: { config: pooled },
  prepare: async (server) => {
    await filled(server)
    return crypto.randomUUID()
  },
  act: (server, subject, key) =>
    server.ask('POST', runtimes, { headers: { 'idempotency-key': key }, json: { metadata: { case: subject } } }),
  over: replaced,
  check: async (server, subject, { before, again }) => {
    if (before !== null) expect(again.text).toBe(before.text)
    const { data } = (await server.ask('GET', `${runtimes}?metadata.case=${subject}`)).json
    const running = data.filter(({ state }: { state: string }) => state === 'running')
    expect(running.map(({ runtime_id }: { runtime_id: string }) => runtime_id)).toEqual(
      again.status === 201 ? [again.json.runtime_id] : [],
    )
    await filled(server)
  },
}

const context: Scenario<Uint8Array> = {
  name: 'a context is stored whole or not at all',
  parts: ['context'],
  prepare: () => tarOf({ file: crypto.randomUUID() }),
  act: (server, body) => server.ask('POST', `${templates}/context`, { body }),
  check: async (server, body, { again }) => {
    expect(again.status, again.text).toBe(201)
    expect(again.json.sha256).toBe(createHash('sha256').update(body).digest('hex'))
    const { json } = await server.ask('POST', `${templates}/context`, { body })
    expect(json.context_id).toBe(again.json.context_id)
  },
}

/** The actions on everything else. */
// biome-ignore lint/suspicious/noExplicitAny: each has a subject that only itself looks into
export const otherScenarios: readonly Scenario<any>[] = [policy, claim, context]
