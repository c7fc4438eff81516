import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test, vi } from 'vitest'
import { CreateRuntime, PolicyBody } from '../../protocol/src/index.ts'
import { Holt, type NewRuntime, type RuntimeData } from '../../sdk/src/index.ts'
import { startTestServer } from '../../server/test/support/start-test-server.ts'
import { bodyOf, emptyFields } from '../src/runtimes/create-form.ts'
import { createLines } from '../src/runtimes/create-lines.ts'

// Each case starts three programs, and the machine may be busy with others.
vi.setConfig({ testTimeout: 60_000 })

const run = promisify(execFile)
const filled = {
  ...emptyFields,
  template: 'base-small',
  name: 'mine',
  cloud: 'aws',
  region: 'us-east-1',
  spread: 'db.1',
  isolation: 'gvisor',
  cpu: '0.5',
  memory: '0.5',
  disk: '20GiB',
  env: 'GREETING=it\'s $HOME "here"\nEMPTY=\nSUM=1=1',
  metadata: 'team=search\nno te=ünï\\code',
  timeout: '30m',
  on_timeout: 'terminate',
  idle_timeout: 'none',
  auto_resume: 'no',
  network: 'stored',
  network_policy: 'web',
  secrets: 'one, two',
}
const ownPolicy = {
  ...emptyFields,
  network: 'own',
  hosts: 'api.example.com\n*.example.com:443,8443\nany.example.com:*\n[2001:db8::/32]:53\n*',
  presets: 'npm pypi',
  all_hosts: 'yes',
  deny: '203.0.113.7\n2001:db8::/32',
}

test('the fields of the form become the body, and empty ones are absent', () => {
  expect(bodyOf(emptyFields)).toEqual({})
  expect(bodyOf(filled)).toEqual({
    template: 'base-small',
    name: 'mine',
    cloud: 'aws',
    region: 'us-east-1',
    spread: 'db.1',
    isolation: 'gvisor',
    cpu: 0.5,
    memory: 0.5,
    disk: '20GiB',
    env: { GREETING: 'it\'s $HOME "here"', EMPTY: '', SUM: '1=1' },
    metadata: { team: 'search', 'no te': 'ünï\\code' },
    timeout_secs: 1800,
    on_timeout: 'terminate',
    idle_timeout_secs: null,
    auto_resume: false,
    network_policy: 'web',
    secrets: ['one', 'two'],
  })
  expect(bodyOf(ownPolicy).network_policy).toEqual({
    allow: [
      { host: 'api.example.com' },
      { host: '*.example.com', ports: [443, 8443] },
      { host: 'any.example.com', all_ports: true },
      { host: '2001:db8::/32', ports: [53] },
      { host: '*' },
    ],
    include: ['npm', 'pypi'],
    allow_all_hosts: true,
    deny: ['203.0.113.7/32', '2001:db8::/32'],
  })
})

test('the form has every field of a create, and of the policy of a runtime', () => {
  // The button `Check` sends `dry_run`. Another test presses it.
  const fields = Object.keys({ ...bodyOf(filled), snapshot: bodyOf({ ...emptyFields, snapshot: 'x' }).snapshot })
  expect([...fields, 'dry_run'].toSorted()).toEqual(Object.keys(CreateRuntime.shape).toSorted())
  const policy = bodyOf(ownPolicy).network_policy
  expect(Object.keys(policy as object).toSorted()).toEqual(Object.keys(PolicyBody.shape).toSorted())
})

test.each([
  ['90', 90],
  ['2h', 7200],
  ['1d', 86_400],
  ['none', null],
])('a runtime that runs for %s runs for %j seconds', (timeout, secs) => {
  expect(bodyOf({ ...emptyFields, timeout }).timeout_secs).toBe(secs)
})

/**
 * Calls a line of Python with an object that takes the parameters of the client's own `create`, and
 * prints the arguments. The client itself needs packages that only its own tests install.
 */
const pythonProgram = `
import ast, json, sys
tree = ast.parse(open(sys.argv[1]).read())
create = next(node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef) and node.name == "create")
known = {each.arg for each in create.args.kwonlyargs + create.args.args}
class Runtimes:
    def create(self, **given):
        assert set(given) <= known, set(given) - known
        print(json.dumps(given))
class Client:
    runtimes = Runtimes()
eval(sys.argv[2], {"holt": Client()})
`

/** Returns what is the same of two runtimes that were made in the same way. */
function lasting(runtime: RuntimeData): Partial<RuntimeData> {
  const { runtime_id: _, created_at, started_at, updated_at, expires_at, ...rest } = runtime
  return rest
}

test.each([
  ['an empty form', emptyFields],
  ['a form with every field', filled],
  ['a form with a policy of its own', ownPolicy],
  ['a form without network', { ...emptyFields, network: 'none' }],
  ['a form of a snapshot', { ...emptyFields, snapshot: 'before', auto_resume: 'yes', timeout: 'none' }],
])('every line makes the runtime of the form: %s', async (_, fields) => {
  const { server, ask } = await startTestServer()
  const folder = await mkdtemp(join(tmpdir(), 'holt-lines-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await symlink(fileURLToPath(new URL('../../cli/bin/holt', import.meta.url)), join(folder, 'holt'))
  const holt = new Holt({ url: server.url, apiKey: server.adminKey, maxRetries: 0 })
  await holt.policies.create({ name: 'web', allow: [{ host: 'api.example.com' }] })
  for (const name of ['one', 'two']) await holt.secrets.create({ name, value: 'x', hosts: ['api.example.com'] })
  const source = await holt.runtimes.create()
  await source.snapshot({ name: 'before' })
  await source.delete()
  const { cloud, region } = source
  const body: NewRuntime = bodyOf(fields === filled ? { ...filled, cloud, region } : fields)
  const lines = new Map(createLines(body, server.url).map(({ client, text }) => [client, text]))
  const lineOf = (client: string) => lines.get(client) ?? ''
  const env = {
    PATH: `${folder}:${process.env.PATH}`,
    HOLT_URL: server.url,
    HOLT_API_KEY: server.adminKey,
    HOME: folder,
  }
  const made = async (act: () => Promise<unknown>) => {
    await act()
    const { data } = (await ask('GET', '/v1/agents/runtime?state=running')).json as { data: RuntimeData[] }
    const [only] = data
    if (only === undefined || data.length > 1) throw new Error(`${data.length} runtimes were made`)
    const policy = (await ask('GET', `/v1/agents/runtime/${only.runtime_id}/network`)).json
    await ask('DELETE', `/v1/agents/runtime/${only.runtime_id}`)
    return [lasting(only), { ...policy, runtime_id: null, updated_at: null }]
  }
  const expected = await made(() => holt.runtimes.create(body))
  expect(await made(() => run('bash', ['-c', lineOf('holt')], { env }))).toEqual(expected)
  expect(await made(() => run('bash', ['-c', lineOf('curl')], { env }))).toEqual(expected)
  const typeScript = new Function('holt', `return (async () => { ${lineOf('TypeScript')} })()`)
  expect(await made(() => typeScript(holt))).toEqual(expected)
  const client = fileURLToPath(new URL('../../../python/src/holt/_async/runtimes.py', import.meta.url))
  const { stdout } = await run('python3', ['-c', pythonProgram, client, lineOf('Python')])
  expect(JSON.parse(stdout)).toEqual(body)
})
