import { join } from 'node:path'
import { publishedClients } from '@holt/testkit'
import { beforeAll, expect, test, vi } from 'vitest'
import { type E2bServer, startE2bServer } from '../../support/e2b-server.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 300_000 })

// biome-ignore lint/suspicious/noExplicitAny: the published package is not a dependency
let published: any
beforeAll(async () => {
  published = await import(join(await publishedClients('javascript-sdk'), 'node_modules/e2b/dist/index.mjs'))
})

async function makeKey(server: E2bServer): Promise<string> {
  const body = { name: 'a client', format: 'e2b', scopes: ['runtime:read', 'runtime:write', 'template:read'] }
  return (await server.ask('POST', '/v1/agents/key', { json: body })).json.key
}

/** Returns the options of a client in single-address mode. */
async function optionsOf(server: E2bServer) {
  const { url } = server.server
  return { apiKey: await makeKey(server), apiUrl: url, sandboxUrl: url }
}

test('a sandbox lives as its program wants', async () => {
  const { Sandbox } = published
  const server = await startE2bServer()
  const options = await optionsOf(server)
  const metadata = { 'a b': 'c&d', ü: '%' }
  const sandbox = await Sandbox.create({ ...options, metadata, timeoutMs: 60_000 })
  expect(await sandbox.isRunning()).toBe(true)
  const info = await sandbox.getInfo()
  expect(info).toMatchObject({ sandboxId: sandbox.sandboxId, metadata, state: 'running', name: 'base-small' })
  expect(info.endAt.getTime() - info.startedAt.getTime()).toBeLessThanOrEqual(60_000)
  await sandbox.setTimeout(600_000)
  expect((await sandbox.getInfo()).endAt.getTime()).toBeGreaterThan(info.endAt.getTime())
  const pages = Sandbox.list({ ...options, query: { metadata, state: ['running'] } })
  expect((await pages.nextItems()).map(({ sandboxId }: { sandboxId: string }) => sandboxId)).toEqual([
    sandbox.sandboxId,
  ])
  expect(pages.hasNext).toBe(false)
  expect(await sandbox.kill()).toBe(true)
  expect(await sandbox.kill()).toBe(false)
  expect(await sandbox.isRunning()).toBe(false)
})

test('a paused sandbox comes back with a connect', async () => {
  const { Sandbox } = published
  const server = await startE2bServer()
  const options = await optionsOf(server)
  const sandbox = await Sandbox.create(options)
  expect(await sandbox.pause()).toBe(true)
  expect(await sandbox.pause()).toBe(false)
  expect(await sandbox.isRunning()).toBe(false)
  const again = await Sandbox.connect(sandbox.sandboxId, options)
  expect(await again.isRunning()).toBe(true)
  expect(await Sandbox.kill(sandbox.sandboxId, options)).toBe(true)
})

test('pages follow each other', async () => {
  const { Sandbox } = published
  const server = await startE2bServer()
  const options = await optionsOf(server)
  const made = [await Sandbox.create(options), await Sandbox.create(options), await Sandbox.create(options)]
  const pages = Sandbox.list({ ...options, limit: 2 })
  const found = []
  while (pages.hasNext) found.push(...(await pages.nextItems()))
  expect(found.map(({ sandboxId }) => sandboxId)).toEqual(made.map(({ sandboxId }) => sandboxId).toReversed())
})

test('errors have the types that programs catch', async () => {
  const { Sandbox, AuthenticationError, RateLimitError, SandboxNotFoundError } = published
  const server = await startE2bServer({ HOLT_PROJECT_QUOTAS: 'runtimes=0' })
  const options = await optionsOf(server)
  await expect(Sandbox.create({ ...options, apiKey: `e2b_${'0'.repeat(40)}` })).rejects.toThrow(AuthenticationError)
  await expect(Sandbox.create(options)).rejects.toThrow(RateLimitError)
  await expect(Sandbox.create('nope', options)).rejects.toThrow(/404: template 'nope' not found/)
  await expect(Sandbox.connect(`rt${'a'.repeat(20)}`, options)).rejects.toThrow(SandboxNotFoundError)
  await expect(Sandbox.getInfo('x', options)).rejects.toThrow(SandboxNotFoundError)
  expect(await Sandbox.kill('x', options)).toBe(false)
})

test('a snapshot makes another sandbox', async () => {
  const { Sandbox } = published
  const server = await startE2bServer()
  const options = await optionsOf(server)
  const sandbox = await Sandbox.create(options)
  const { snapshotId } = await sandbox.createSnapshot()
  const other = await Sandbox.create(snapshotId, options)
  expect(other.sandboxId).not.toBe(sandbox.sandboxId)
  expect(await Sandbox.deleteSnapshot(snapshotId, options)).toBe(true)
  expect(await Sandbox.deleteSnapshot(snapshotId, options)).toBe(false)
})
