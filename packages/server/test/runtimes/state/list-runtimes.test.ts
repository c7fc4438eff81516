import { expect, test } from 'vitest'
import { startTestServer } from '../../support/start-test-server.ts'

const path = '/v1/agents/runtime'

test('a page of large runtimes is short, and the next pages have the rest', async () => {
  const { ask, makeRuntime } = await startTestServer()
  const made: string[] = []
  for (let count = 0; count < 6; count += 1) {
    made.unshift(
      await makeRuntime({ env: { A: 'x'.repeat(125_000), B: 'x'.repeat(125_000) }, metadata: { n: `${count % 2}` } }),
    )
    await ask('DELETE', `${path}/${made[0]}`)
  }
  for (const [query, wanted] of [
    ['', made],
    ['&metadata.n=1', made.filter((_, index) => index % 2 === 0)],
  ] as const) {
    const found: string[] = []
    for (let cursor = ''; ; ) {
      const { text, json } = await ask('GET', `${path}?limit=100${query}${cursor}`)
      expect(text.length).toBeLessThan(1.2 * 2 ** 20)
      found.push(...json.data.map(({ runtime_id }: { runtime_id: string }) => runtime_id))
      if (json.next_cursor === null) break
      cursor = `&cursor=${json.next_cursor}`
    }
    expect(found).toEqual(wanted)
  }
})

test('forks are listed by their parent, and runtimes by their stored policy', async () => {
  const { ask, makeRuntime } = await startTestServer()
  const idsOf = async (query: string) => {
    const { data } = (await ask('GET', `${path}?${query}`)).json
    return data.map(({ runtime_id }: { runtime_id: string }) => runtime_id)
  }
  const { policy_id } = (await ask('POST', '/v1/agents/network-policy', { json: { name: 'shared' } })).json
  await ask('POST', '/v1/agents/network-policy', { json: { name: 'other' } })
  const parent = await makeRuntime({ network_policy: 'shared' })
  await makeRuntime({ network_policy: 'other' })
  await makeRuntime({ network_policy: { allow: [] } })
  const forked = (await ask('POST', `${path}/${parent}/fork`, { json: { count: 2 } })).json.data
  const children = forked.map(({ runtime }: { runtime: { runtime_id: string } }) => runtime.runtime_id).toReversed()
  expect(await idsOf(`parent=${parent}`)).toEqual(children)
  expect(await idsOf(`parent=${children[0]}`)).toEqual([])
  for (const name of ['shared', policy_id])
    expect(await idsOf(`network_policy=${name}&limit=100`)).toEqual([...children, parent])
  expect(await idsOf('network_policy=missing')).toEqual([])
})

test('runtimes are listed by their secret, and by the snapshot that they were created from', async () => {
  const { ask, makeRuntime } = await startTestServer()
  const idsOf = async (query: string) => {
    const { data } = (await ask('GET', `${path}?${query}`)).json
    return data.map(({ runtime_id }: { runtime_id: string }) => runtime_id)
  }
  const secret = { name: 'vendor', value: 'x', hosts: ['api.example.com'] }
  const { secret_id } = (await ask('POST', '/v1/agents/secret', { json: secret })).json
  const source = await makeRuntime({
    secrets: ['vendor'],
    network_policy: { allow: [{ host: 'api.example.com' }] },
  })
  const json = { name: 'before', kind: 'filesystem' }
  const { snapshot_id } = (await ask('POST', `${path}/${source}/snapshot`, { json })).json
  const restored = await makeRuntime({ snapshot: 'before' })
  await makeRuntime()
  for (const text of ['vendor', secret_id]) expect(await idsOf(`secret=${text}`)).toContain(source)
  expect(await idsOf('secret=vendor&state=paused')).toEqual([])
  for (const text of ['before', snapshot_id]) expect(await idsOf(`snapshot=${text}`)).toEqual([restored])
  expect([await idsOf('secret=missing'), await idsOf('snapshot=missing')]).toEqual([[], []])
  await ask('DELETE', '/v1/agents/secret/vendor')
  expect(await idsOf('secret=vendor')).toEqual([])
})

test('a filter by another thing finds nothing of another project', async () => {
  const { ask, makeRuntime } = await startTestServer()
  const { policy_id } = (await ask('POST', '/v1/agents/network-policy', { json: { name: 'mine' } })).json
  const id = await makeRuntime({ network_policy: 'mine' })
  const { project_id } = (await ask('POST', '/v1/agents/project', { json: { name: 'second' } })).json
  const json = { name: 'of-second', scopes: ['admin'], project: project_id }
  const { key } = (await ask('POST', '/v1/agents/key', { json })).json
  const secret = { name: 'mine', value: 'x', hosts: ['api.example.com'] }
  const { secret_id } = (await ask('POST', '/v1/agents/secret', { json: secret })).json
  const policy = { allow: [{ host: 'api.example.com' }] }
  const source = await makeRuntime({ secrets: ['mine'], network_policy: policy })
  const taken = await ask('POST', `${path}/${source}/snapshot`, { json: { name: 'mine', kind: 'filesystem' } })
  const { snapshot_id } = taken.json
  await makeRuntime({ snapshot: 'mine' })
  const filters = {
    network_policy: [policy_id, 'mine'],
    parent: [id],
    secret: [secret_id, 'mine'],
    snapshot: [snapshot_id, 'mine'],
  }
  for (const query of Object.entries(filters).flatMap(([name, texts]) => texts.map((text) => `${name}=${text}`)))
    expect((await ask('GET', `${path}?${query}`, { key })).json.data).toEqual([])
})
