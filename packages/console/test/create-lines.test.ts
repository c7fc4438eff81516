import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Holt } from '../../sdk/src/index.ts'
import { startTestService } from '../../sdk/test/support/test-service.ts'
import { bodyOf, emptyFields } from '../src/runtimes/create-form.ts'
import { createLines } from '../src/runtimes/create-lines.ts'

// Each case starts three programs, and the machine may be busy with others.
vi.setConfig({ testTimeout: 60_000 })

const run = promisify(execFile)
const filled = {
  ...emptyFields,
  template: 'base-small',
  name: 'mine',
  isolation: 'gvisor',
  cpu: '1.5',
  memory: '2',
  disk: '20GiB',
  env: 'GREETING=it\'s $HOME "here"\nEMPTY=\nSUM=1=1',
  metadata: 'team=search\nno te=ünï\\code',
  timeout: '30',
  on_timeout: 'terminate',
  idle_timeout: 'none',
  auto_resume: 'no',
  network_policy: 'web',
  secrets: 'one, two',
}

test('the form has every field of a create that clients have, and empty ones are absent', () => {
  expect(bodyOf(emptyFields)).toEqual({})
  expect(bodyOf(filled)).toEqual({
    template: 'base-small',
    name: 'mine',
    isolation: 'gvisor',
    cpu: 1.5,
    memory: 2,
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

test.each([
  ['an empty form', emptyFields],
  ['a form with every field', filled],
  ['a form of a snapshot', { ...emptyFields, snapshot: 'before', auto_resume: 'yes', timeout: 'none' }],
])('every line creates what the form creates: %s', async (_, fields) => {
  const service = await startTestService()
  const folder = await mkdtemp(join(tmpdir(), 'holt-lines-'))
  onTestFinished(async () => {
    await service.close()
    await rm(folder, { recursive: true })
  })
  await symlink(fileURLToPath(new URL('../../cli/bin/holt', import.meta.url)), join(folder, 'holt'))
  const body = bodyOf(fields)
  const lines = new Map(createLines(body, service.url).map(({ client, text }) => [client, text]))
  const lineOf = (client: string) => lines.get(client) ?? ''
  const env = { PATH: `${folder}:${process.env.PATH}`, HOLT_URL: service.url, HOLT_API_KEY: service.key, HOME: folder }
  const sent = async (act: () => Promise<unknown>) => {
    service.calls.length = 0
    await act().catch(() => undefined) // A refusal of the test service comes after the call.
    return service.calls.find(({ route }) => route === 'createRuntime')?.body
  }
  const holt = new Holt({ url: service.url, apiKey: service.key, maxRetries: 0 })
  const expected = await sent(() => holt.runtimes.create(body))
  expect(expected).toBeDefined()
  expect(await sent(() => run('bash', ['-c', lineOf('holt')], { env }))).toEqual(expected)
  expect(await sent(() => run('bash', ['-c', lineOf('curl')], { env }))).toEqual(expected)
  const typeScript = new Function('holt', `return (async () => { ${lineOf('TypeScript')} })()`)
  expect(await sent(() => typeScript(holt))).toEqual(expected)
  const client = fileURLToPath(new URL('../../../python/src/holt/_async/runtimes.py', import.meta.url))
  const { stdout } = await run('python3', ['-c', pythonProgram, client, lineOf('Python')])
  expect(JSON.parse(stdout)).toEqual(body)
})
