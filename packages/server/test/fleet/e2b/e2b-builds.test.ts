import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { parseConfig } from '../../../src/index.ts'
import { withE2b } from '../../support/e2b-server.ts'
import {
  requestTemplate,
  startTemplate,
  templateEnded,
  templateStatusOf,
  uploadFiles,
} from '../../support/e2b-templates.ts'
import { FakeBuilder } from '../../support/fake-builder.ts'
import { fleetStores } from '../../support/fleet-stores.ts'
import { startMovingFleet } from '../../support/moving-fleet.ts'
import { tarOf } from '../../support/tar-of.ts'

const { e2b } = parseConfig({ HOLT_STATE_DIR: '/nowhere', HOLT_E2B: 'on' })

test.each(fleetStores)(
  'over %s every step of a build of E2B works at any host',
  { timeout: 60_000 },
  async (_, open) => {
    const contexts: string[] = []
    const optionsOf = () => {
      const builder = new FakeBuilder()
      builder.script = async ({ request }) => {
        contexts.push(readFileSync(request.context?.path ?? '').toString('latin1'))
        return undefined
      }
      return { builder, config: { e2b } }
    }
    const fleet = await startMovingFleet(3, { store: await open(), optionsOf })
    const clients = fleet.hosts.map(({ server }) => withE2b(server))
    for (let at = 0; at < 3; at += 1) {
      const [one, two, three] = [0, 1, 2].map((next) => clients[(at + next) % 3]) as [
        (typeof clients)[number],
        (typeof clients)[number],
        (typeof clients)[number],
      ]
      const requested = await requestTemplate(one, { name: `app${at}:v1`, tags: ['more'] })
      const hash = `hash-${at}`
      const { url, body } = await uploadFiles(two, requested, { hash, files: { file: `content ${at}` } })
      // An address is used once, on whichever host.
      const path = new URL(url).pathname
      expect((await fetch(new URL(path, three.server.url), { method: 'PUT', body })).status).toBe(403)
      expect((await one.e2b('GET', `/templates/${requested.templateID}/files/${hash}`)).json.present).toBe(true)
      expect(await templateStatusOf(three, requested)).toMatchObject({ status: 'waiting' })
      const steps = [{ type: 'COPY', args: ['file', '/file', '', ''], filesHash: hash }]
      expect((await startTemplate(three, requested, { steps })).status).toBe(202)
      expect(await templateEnded(one, requested)).toMatchObject({ status: 'ready' })
      expect(contexts.at(-1)).toContain(`content ${at}`)
      expect((await startTemplate(two, requested, { steps })).status).toBe(409)
      for (const client of clients) expect(await templateStatusOf(client, requested)).toMatchObject({ status: 'ready' })
      for (const name of [`app${at}:v1`, `app${at}:more`])
        expect((await two.ask('GET', `/v1/agents/template/${name}`)).json.state).toBe('ready')
    }
  },
)

test('of two uploads at once to one address, on two hosts, one is taken', async () => {
  const fleet = await startMovingFleet(2, { optionsOf: () => ({ builder: new FakeBuilder(), config: { e2b } }) })
  const [one, two] = fleet.hosts.map(({ server }) => withE2b(server)) as [
    ReturnType<typeof withE2b>,
    ReturnType<typeof withE2b>,
  ]
  const requested = await requestTemplate(one)
  const { json } = await one.e2b('GET', `/templates/${requested.templateID}/files/h`)
  const body = gzipSync(await tarOf({ a: 'a' }))
  const address = new URL(new URL(json.url).pathname, two.server.url)
  const both = await Promise.all(
    [json.url, address].map(async (url) => (await fetch(url, { method: 'PUT', body })).status),
  )
  expect(both.toSorted()).toEqual([200, 403])
})

test.each(fleetStores)('over %s every host measures the sandboxes of all', async (_, open) => {
  const fleet = await startMovingFleet(2, { store: await open(), optionsOf: () => ({ config: { e2b } }) })
  const clients = fleet.hosts.map(({ server }) => withE2b(server))
  const ids: string[] = []
  for (const { server } of fleet.hosts) ids.push(await server.makeRuntime())
  const hostsOf = await fleet.store.db.selectFrom('runtimes').select('host_id').execute()
  expect(new Set(hostsOf.map(({ host_id }) => host_id)).size).toBe(2)
  for (const client of clients) {
    const { status, json } = await client.e2b('GET', `/sandboxes/metrics?sandbox_ids=${ids.join(',')}`)
    expect(status).toBe(200)
    expect(Object.keys(json.sandboxes).sort()).toEqual([...ids].sort())
    for (const id of ids) expect(json.sandboxes[id].memTotal).toBeGreaterThan(0)
  }
})
