import { existsSync, readFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Builds } from '../../../src/builds/builds.ts'
import { BuildPaths } from '../../../src/builds/paths.ts'
import { removeOrphans } from '../../../src/builds/remove-orphans.ts'
import { ended, FakeBuilder, type FakeRun, until } from '../../support/fake-builder.ts'
import { pass, type TestHost } from '../../support/fleet.ts'
import { fleetStores } from '../../support/fleet-stores.ts'
import { type MovingFleet, startMovingFleet } from '../../support/moving-fleet.ts'
import { tarOf } from '../../support/tar-of.ts'

const templates = '/v1/agents/template'
const builds = `${templates}/build`

/** Starts hosts with builders that do what the test says. */
async function startBuilding(size: number, open?: () => Promise<MovingFleet['store']>, buildsAtOnce = 2) {
  const builders: FakeBuilder[] = []
  const fleet = await startMovingFleet(size, {
    ...(open === undefined ? {} : { store: await open() }),
    optionsOf: () => {
      const builder = new FakeBuilder()
      builders.push(builder)
      return { builder, config: { buildsAtOnce } }
    },
  })
  /** Returns the hosts whose builders have run a build. */
  const ranOn = (buildId: string) =>
    fleet.hosts.filter((_, at) => builders[at]?.runs.some(({ request }) => request.buildId === buildId))
  return { ...fleet, builders, ranOn }
}

/** Waits for the end of a build's signal, as a long step would. */
const untilStopped = ({ signal }: FakeRun) =>
  new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason))
  })

const build = ({ server }: TestHost, json: object = {}) =>
  server.ask('POST', builds, { json: { name: 'app', dockerfile: 'FROM scratch', ...json } })

const upload = async ({ server }: TestHost, text: string) => {
  const { status, json } = await server.ask('POST', `${templates}/context`, { body: await tarOf({ a: text }) })
  expect(status).toBe(201)
  return json.context_id as string
}

test.each(fleetStores)('over %s a build has one host, whichever host gets it and its context', async (_, open) => {
  const { hosts, ranOn, builders } = await startBuilding(3, open)
  const contents: string[] = []
  for (const builder of builders)
    builder.script = async ({ request, host }) => {
      contents.push(readFileSync(request.context?.path ?? '').toString('latin1'))
      host.report.log({ level: 'info', step: null, message: 'a line' })
      return undefined
    }
  const used = new Set<TestHost | undefined>()
  for (const [at, entry] of hosts.entries()) {
    const context_id = await upload(hosts[(at + 1) % 3] as TestHost, `number ${at}`)
    const started = await build(entry, { context_id })
    expect([started.status, started.json.status]).toEqual([202, 'queued'])
    const id = started.json.build_id
    for (const host of hosts) {
      const log = await host.server.ask('GET', `${builds}/${id}/logs?follow=true`)
      expect(log.text).toContain('a line')
      expect(log.text).toContain('"status":"ready"')
      expect((await ended(host.server, id)).status).toBe('ready')
    }
    expect(ranOn(id)).toHaveLength(1)
    used.add(ranOn(id)[0])
    expect(contents.at(-1)).toContain(`number ${at}`)
  }
  expect(used.size).toBe(1)
})

test('builds of many templates are spread over the hosts', async () => {
  const { hosts, ranOn } = await startBuilding(3)
  const [entry] = hosts as [TestHost]
  const used = new Set<TestHost | undefined>()
  for (let at = 0; at < 12; at += 1) {
    const { json } = await build(entry, { name: `app-${at}` })
    await ended(entry.server, json.build_id)
    used.add(ranOn(json.build_id)[0])
  }
  expect(used.size).toBeGreaterThan(1)
})

test('every host cancels a build, and an equal request is the build that runs', async () => {
  const { hosts, builders } = await startBuilding(3)
  for (const builder of builders) builder.script = untilStopped
  for (const entry of hosts) {
    const ids = new Set<string>()
    for (const host of hosts) ids.add((await build(host)).json.build_id)
    expect(ids.size).toBe(1)
    const [id] = [...ids]
    const cancelled = await entry.server.ask('DELETE', `${builds}/${id}`)
    expect([cancelled.status, cancelled.json.status]).toEqual([200, 'cancelled'])
  }
})

test('the deletion of a template cancels its builds on all hosts', async () => {
  const { hosts, builders } = await startBuilding(2)
  const [one, two] = hosts as [TestHost, TestHost]
  const first = await build(one)
  expect((await ended(one.server, first.json.build_id)).status).toBe('ready')
  for (const entry of [one, two]) {
    for (const builder of builders) builder.script = untilStopped
    const { json } = await build(two, { env: { FOR: entry.hostId } })
    await until(() => builders.some(({ runs }) => runs.some(({ request }) => request.buildId === json.build_id)))
    expect((await entry.server.ask('DELETE', `${templates}/app`)).status).toBe(204)
    expect((await entry.server.ask('GET', `${builds}/${json.build_id}`)).json.status).toBe('cancelled')
    for (const builder of builders) builder.script = async () => undefined
    expect((await ended(one.server, (await build(one)).json.build_id)).status).toBe('ready')
  }
})

test('the context of a host that is gone is asked for, and can be uploaded to any host', async () => {
  const { hosts, store } = await startBuilding(3)
  const [one, two, three] = hosts as [TestHost, TestHost, TestHost]
  const context_id = await upload(one, 'here')
  await one.server.close()
  await pass(40_000, { store, hosts: [two, three], beating: [two, three] })
  const refused = await build(two, { context_id })
  expect([refused.status, refused.json.error.code]).toEqual([404, 'context_not_found'])
  expect(refused.json.error.hint).toContain('Upload')
  expect(await upload(three, 'here')).toBe(context_id)
  const { json } = await build(two, { context_id })
  expect((await ended(two.server, json.build_id)).status).toBe('ready')
})

test.each(fleetStores)(
  'over %s a build that waits on a drained host is run by another one',
  async (_, open) => {
    const { hosts, builders, ranOn, store } = await startBuilding(2, open, 1)
    const [one, two] = hosts as [TestHost, TestHost]
    const context_id = await upload(two, 'content')
    const secrets: unknown[] = []
    for (const builder of builders)
      builder.script = async (run) => {
        secrets.push(run.request.buildSecrets)
        return run.request.noCache ? untilStopped(run) : undefined
      }
    const running = (await build(one, { no_cache: true })).json.build_id
    await until(() => ranOn(running).length === 1)
    const [busy] = ranOn(running) as [TestHost]
    const other = busy === one ? two : one
    const waiting = (await build(two, { context_id, memory: '512MiB', build_secrets: { token: 'hush' } })).json.build_id
    const drained = await one.server.ask('POST', `/v1/agents/host/${busy.hostId}/drain`, { json: {} })
    expect(drained.status).toBe(200)
    expect((await ended(one.server, waiting)).status).toBe('ready')
    expect(ranOn(waiting)).toEqual([other])
    expect(secrets.at(-1)).toEqual({ token: 'hush' })
    const row = await store.db.selectFrom('builds').select('host_id').where('build_id', '=', waiting).executeTakeFirst()
    expect(row?.host_id).toBe(other.hostId)
    expect((await one.server.ask('GET', `${builds}/${running}`)).json.ended_at).toBeNull()
    expect((await other.server.ask('DELETE', `${builds}/${running}`)).json.status).toBe('cancelled')
  },
  60_000,
)

test('a copy of a context is removed after its row, unless a build needs it', async () => {
  const { hosts, ranOn, store } = await startBuilding(2)
  const [one, two] = hosts as [TestHost, TestHost]
  const { json } = await build(one, { context_id: await upload(one, 'a') })
  await ended(one.server, json.build_id)
  const [host] = ranOn(json.build_id) as [TestHost]
  const context_id = await upload(host === one ? two : one, 'b')
  await ended(one.server, (await build(one, { context_id })).json.build_id)
  const copy = join(host.server.stateDir, 'builds', 'contexts', `${context_id}.tar`)
  const needed = new Set<string>()
  const service = {
    builds: { paths: new BuildPaths(host.server.stateDir), needsContext: (id: string) => needed.has(id) },
    holds: { isHeld: () => false },
    store,
  } as unknown as Builds
  const old = new Date(Date.now() - 2 * 3_600_000)
  utimesSync(copy, old, old)
  await removeOrphans(service)
  expect(existsSync(copy)).toBe(true)
  await store.db.deleteFrom('build_contexts').where('context_id', '=', context_id).execute()
  needed.add(context_id)
  await removeOrphans(service)
  expect(existsSync(copy)).toBe(true)
  needed.clear()
  await removeOrphans(service)
  expect(existsSync(copy)).toBe(false)
})
