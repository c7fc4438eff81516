import { expect } from 'vitest'
import { parseConfig } from '../../src/index.ts'
import type { Scenario } from '../support/fail-everywhere.ts'
import type { TestServer } from '../support/start-test-server.ts'

const runtimes = '/v1/agents/runtime'
const network_policy = { allow: [{ host: 'api.example.com' }] }

interface Listed {
  readonly runtime_id: string
  readonly snapshot_id: string
  readonly state: string
}

/** A runtime with a file, so that what was in it can be told from what is new. */
async function withFile(server: TestServer, body: object = {}): Promise<string> {
  const id = await server.makeRuntime(body)
  const written = await server.ask('PUT', `${runtimes}/${id}/files/content?path=/workspace/kept`, { body: 'kept' })
  expect(written.status).toBe(201)
  return id
}

async function expectKept({ ask }: TestServer, id: string): Promise<void> {
  expect((await ask('GET', `${runtimes}/${id}/files/content?path=/workspace/kept`)).text).toBe('kept')
}

/** Sends a request with an `Idempotency-Key`. */
function post({ ask }: TestServer, path: string, key: string, json?: object) {
  return ask('POST', path, { headers: { 'idempotency-key': key }, ...(json === undefined ? {} : { json }) })
}

/** The entries of a list in a state. */
async function those({ ask }: TestServer, path: string, wanted: string): Promise<Listed[]> {
  const { data } = (await ask('GET', path)).json as { data: Listed[] }
  return data.filter(({ state }) => state === wanted)
}

const idsOf = (found: readonly Listed[]) => found.map(({ runtime_id }) => runtime_id).sort()

const create: Scenario<string> = {
  name: 'a create makes one runtime or none, and says which',
  parts: ['create', 'store', 'idempotency'],
  prepare: async () => crypto.randomUUID(),
  act: (server, subject, key) => post(server, runtimes, key, { metadata: { case: subject }, network_policy }),
  check: async (server, subject, { before, again }) => {
    if (before !== null) expect(again.text).toBe(before.text)
    const running = idsOf(await those(server, `${runtimes}?metadata.case=${subject}&limit=100`, 'running'))
    expect(running).toEqual(again.status === 201 ? [again.json.runtime_id] : [])
    const anew = await post(server, runtimes, crypto.randomUUID(), { metadata: { case: subject }, network_policy })
    expect(anew.status, anew.text).toBe(201)
  },
}

const remove: Scenario<string> = {
  name: 'a delete is finished',
  parts: ['delete'],
  prepare: (server) => withFile(server, { network_policy }),
  act: (server, id) => server.ask('DELETE', `${runtimes}/${id}`),
  check: async (server, id, { again }) => {
    expect(again.status, again.text).toBe(204)
    expect((await server.ask('GET', `${runtimes}/${id}`)).json.state).toBe('terminated')
  },
}

const command: Scenario<string> = {
  name: 'a command has run once',
  parts: ['command'],
  prepare: (server) => withFile(server),
  act: (server, id, key) => post(server, `${runtimes}/${id}/commands`, key, { command: 'echo once' }),
  check: async (server, id, { again }) => {
    expect([again.status, again.json.stdout], again.text).toEqual([200, 'once\n'])
    const { data } = (await server.ask('GET', `${runtimes}/${id}/commands`)).json
    expect(data.filter(({ command }: { command: string }) => command === 'echo once')).toHaveLength(1)
    await expectKept(server, id)
  },
}

const pause: Scenario<string> = {
  name: 'a pause loses nothing',
  parts: ['pause', 'write-down'],
  prepare: (server) => withFile(server, { network_policy }),
  act: (server, id) => server.ask('POST', `${runtimes}/${id}/pause`),
  check: async (server, id, { again }) => {
    expect([again.status, again.json.state], again.text).toEqual([200, 'paused'])
    await expectKept(server, id)
    expect((await server.ask('GET', `${runtimes}/${id}`)).json.state).toBe('running')
  },
}

/** The entry for E2B's clients, whose pauses may keep the files alone. */
const withE2b = {
  config: { e2b: parseConfig({ HOLT_STATE_DIR: '/nowhere', HOLT_E2B: 'on' }).e2b } as never,
} as const

/** Sends a request for files without memory, as clients of E2B do. */
async function askE2b({ server }: TestServer, path: string) {
  const { status, headers, text } = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ memory: false }),
  }).then(async (answer) => ({ status: answer.status, headers: answer.headers, text: await answer.text() }))
  return { status, headers, text, json: undefined }
}

const pauseFiles: Scenario<string> = {
  name: 'a pause of the files loses none',
  parts: ['pause-files'],
  options: withE2b,
  prepare: (server) => withFile(server, { network_policy }),
  act: (server, id) => askE2b(server, `/sandboxes/${id}/pause`),
  check: async (server, id, { again }) => {
    // 409: it is paused already.
    expect([204, 409], again.text).toContain(again.status)
    expect((await server.ask('GET', `${runtimes}/${id}`)).json.state).toBe('paused')
    expect(await server.engine.inspect(id)).toBeNull()
    await expectKept(server, id)
    expect((await server.ask('GET', `${runtimes}/${id}`)).json.state).toBe('running')
  },
}

const loseMemory: Scenario<string> = {
  name: 'a paused runtime that loses its memory keeps its files',
  parts: ['lose-memory'],
  options: withE2b,
  prepare: async (server) => {
    const id = await withFile(server, { network_policy })
    await server.ask('POST', `${runtimes}/${id}/pause`)
    return id
  },
  act: (server, id) => askE2b(server, `/v2/sandboxes/${id}/connect`),
  check: async (server, id, { again }) => {
    expect([200, 201], again.text).toContain(again.status)
    await expectKept(server, id)
    expect((await server.ask('GET', `${runtimes}/${id}`)).json.state).toBe('running')
  },
}

const resume: Scenario<string> = {
  name: 'a resume loses nothing',
  parts: ['resume'],
  prepare: async (server) => {
    const id = await withFile(server, { network_policy })
    await server.ask('POST', `${runtimes}/${id}/pause`)
    return id
  },
  act: (server, id) => server.ask('POST', `${runtimes}/${id}/resume`),
  check: async (server, id, { again }) => {
    expect([again.status, again.json.state], again.text).toEqual([200, 'running'])
    await expectKept(server, id)
  },
}

const snapshotOf = (kind: 'memory' | 'filesystem'): Scenario<string> => ({
  name: `a snapshot of kind ${kind} is there whole, or says that it is not`,
  parts: ['snapshot'],
  prepare: (server) => withFile(server),
  act: (server, id, key) => post(server, `${runtimes}/${id}/snapshot`, key, { kind }),
  check: async (server, id, { before, again }) => {
    if (before !== null) expect(again.text).toBe(before.text)
    await expectKept(server, id)
    const ready = await those(server, '/v1/agents/snapshot?limit=100', 'ready')
    expect(ready.map(({ snapshot_id }) => snapshot_id)).toEqual(again.status === 201 ? [again.json.snapshot_id] : [])
    for (const { snapshot_id } of ready) await expectKept(server, await server.makeRuntime({ snapshot: snapshot_id }))
    expect((await post(server, `${runtimes}/${id}/snapshot`, crypto.randomUUID(), { kind })).status).toBe(201)
  },
})

const fork: Scenario<string> = {
  name: 'a fork leaves its parent as it was, and children that are told of',
  parts: ['fork'],
  prepare: (server) => withFile(server, { network_policy }),
  act: (server, id, key) => post(server, `${runtimes}/${id}/fork`, key, { count: 2 }),
  check: async (server, id, { before, again }) => {
    if (before !== null) expect(again.text).toBe(before.text)
    await expectKept(server, id)
    const running = idsOf(await those(server, `${runtimes}?limit=100`, 'running'))
    const children = running.filter((one) => one !== id)
    for (const child of children) await expectKept(server, child)
    const results: readonly { readonly runtime: Listed | null }[] = again.status === 201 ? again.json.data : []
    expect(children).toEqual(idsOf(results.flatMap(({ runtime }) => runtime ?? [])))
    expect((await post(server, `${runtimes}/${id}/fork`, crypto.randomUUID(), { count: 1 })).status).toBe(201)
  },
}

const network: Scenario<string> = {
  name: 'a change of a network is in force as it is stored',
  parts: ['network'],
  prepare: (server) => withFile(server, { network_policy }),
  act: (server, id) =>
    server.ask('PUT', `${runtimes}/${id}/network`, {
      json: { network_policy: { allow: [{ host: 'other.example.com' }] } },
    }),
  check: async (server, id, { again }) => {
    expect(again.status, again.text).toBe(200)
    expect(server.gateway.of(id)?.hosts).toEqual(['other.example.com'])
  },
}

/** The actions on runtimes. */
export const runtimeScenarios: readonly Scenario<string>[] = [
  create,
  remove,
  command,
  pause,
  pauseFiles,
  loseMemory,
  resume,
  snapshotOf('memory'),
  snapshotOf('filesystem'),
  fork,
  network,
]
