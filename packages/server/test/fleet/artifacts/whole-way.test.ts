import { expect, test, vi } from 'vitest'
import { buildTemplate, checkpointing, isRestored } from '../../support/checkpointing-builder.ts'
import { hostRow, pass, startHost, type TestHost } from '../../support/fleet.ts'
import { readMetrics } from '../../support/read-metrics.ts'
import { newStateDir, openTestStore } from '../../support/test-store.ts'

/** Returns the bytes of artifacts that a host has received, by the type of their source. */
async function receivedBy({ server }: TestHost): Promise<Readonly<Record<string, number>>> {
  const { text } = await server.ask('GET', '/metrics')
  const samples = readMetrics(text).get('holt_fleet_artifact_received_bytes_total')?.samples ?? []
  return Object.fromEntries(samples.map(({ labels, value }) => [labels.source ?? '', value]))
}

test('a template of one host is restored at others: from that host, then from the object store', async () => {
  const store = await openTestStore()
  const config = { objectStore: { url: `file://${await newStateDir()}`, artifactKey: null } }
  const start = () => startHost(store, { config, builder: checkpointing() })
  const one = await start()
  await buildTemplate(one.server, 'app')
  const two = await start()
  await pass(1, { store, hosts: [one, two], beating: [one, two] })
  expect((await two.server.ask('POST', `/v1/agents/host/${one.hostId}/cordon`)).status).toBe(204)
  await vi.waitUntil(async () => (await hostRow(store, one)).state === 'cordoned', { timeout: 20_000 })
  await pass(1, { store, hosts: [one, two], beating: [one, two] })
  expect(await isRestored(two.server, 'app')).toBe(true)
  expect(await receivedBy(two)).toEqual({ peer: expect.any(Number) })
  await one.server.close()
  await two.server.close()
  const three = await start()
  await pass(1, { store, hosts: [three], beating: [three] })
  expect(await isRestored(three.server, 'app')).toBe(true)
  expect(await receivedBy(three)).toEqual({ store: expect.any(Number) })
})
