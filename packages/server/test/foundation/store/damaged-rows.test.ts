import { expect, test } from 'vitest'
import { ended, FakeBuilder } from '../../support/fake-builder.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { storedRows, tamper } from '../../support/test-store.ts'

const runtimes = '/v1/agents/runtime'

/** Every column that holds JSON and that a list shows, by its table. */
const columns = {
  runtimes: ['state_reason_json', 'env_json', 'metadata_json', 'source_json', 'ports_json'],
  snapshots: ['state_reason_json', 'settings_json'],
  policies: ['body_json'],
  secrets: ['hosts_json'],
  builds: ['reason_json', 'warnings_json', 'ignored_json', 'steps_json'],
  templates: ['state_reason_json', 'env_json', 'facts_json', 'ignored_json', 'ports_json', 'labels_json'],
} as const

/** The path of the list of each kind. */
const lists: Readonly<Record<keyof typeof columns, string>> = {
  runtimes,
  snapshots: '/v1/agents/snapshot',
  policies: '/v1/agents/network-policy',
  secrets: '/v1/agents/secret',
  builds: '/v1/agents/template/build',
  templates: '/v1/agents/template',
}

/** Makes one of each, of a name. */
async function makeEach(server: TestServer, name: string): Promise<void> {
  const { ask } = server
  const allow = [{ host: 'api.example.com' }]
  await ask('POST', lists.policies, { json: { name, allow } })
  await ask('POST', lists.secrets, { json: { name, value: 'v', hosts: ['api.example.com'] } })
  const id = await server.makeRuntime({ name, network_policy: { allow } })
  expect((await ask('POST', `${runtimes}/${id}/snapshot`, { json: { name } })).status).toBe(201)
  const build = (await ask('POST', lists.builds, { json: { name, dockerfile: `FROM scratch\nLABEL a=${name}` } })).json
  await ended(server, build.build_id)
}

const named = (list: readonly { name: string }[]) => list.map(({ name }) => name)

test('a damaged row stops neither the start, nor lists, nor work on other rows', async () => {
  const server = await startTestServer({ builder: new FakeBuilder() })
  for (const name of ['whole', 'broken']) await makeEach(server, name)
  const [broken] = await storedRows(server.stateDir, `SELECT runtime_id FROM runtimes WHERE name = 'broken'`)
  await server.close()
  for (const [table, names] of Object.entries(columns))
    for (const column of names)
      await tamper(server.stateDir, `UPDATE ${table} SET ${column} = '{"half' WHERE name = 'broken'`)
  await tamper(server.stateDir, `UPDATE builds SET ended_at = NULL, status = 'building' WHERE name = 'broken'`)

  const next = await server.restart()
  for (const path of Object.values(lists)) {
    const { status, json, text } = await next.ask('GET', `${path}?limit=100`)
    expect(status, text).toBe(200)
    expect(named(json.data), path).toContain('whole')
  }
  const listed = (await next.ask('GET', runtimes)).json.data
  expect(named(listed)).not.toContain('broken')
  expect(next.logged.map(({ message }) => message)).toContain(
    'a row of the database cannot be read and was left out of the list',
  )
  await next.makeRuntime({ name: 'another' })
  expect((await next.ask('DELETE', `${runtimes}/${broken?.runtime_id}`)).status).toBe(204)
  expect(await next.engine.inspect(String(broken?.runtime_id))).toBeNull()
})
