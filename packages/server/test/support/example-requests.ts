import { makeId, type RouteName } from '@holt/protocol'
import { giveBridge } from './fake-bridge.ts'
import { leastRequests } from './least-requests.ts'
import type { TestServer } from './start-test-server.ts'
import { tarOf } from './tar-of.ts'
import { makeThings, type Things } from './things-of-a-project.ts'

/** A request that a route answers with success, if the things of `exampleThings` exist. */
export interface ExampleRequest {
  readonly query?: string
  readonly json?: object
  readonly body?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

/** The requests that differ from the least one. */
const examples: Partial<Record<RouteName, ExampleRequest>> = {
  createRuntime: { json: { name: 'another' } },
  forkRuntime: { json: { count: 1 } },
  createSnapshot: { json: { name: 'before' } },
  searchFiles: { json: { path: '/tmp' } },
  replaceInFiles: { json: { path: '/tmp', pattern: 'one', replacement: 'two' } },
  copyFile: { json: { source: '/tmp/a', destination: '/tmp/b' } },
  moveFile: { json: { source: '/tmp/b', destination: '/tmp/c' } },
  makeDirectory: { json: { path: '/tmp/made' } },
  removeFile: { json: { path: '/tmp/c' } },
  sendSignal: { json: { signal: 'SIGUSR1' } },
  readArchive: { query: '?path=/tmp' },
  makeSymlink: { json: { path: '/tmp/link', target: 'a' } },
  changeMode: { json: { path: '/tmp/a', mode: '0600' } },
  changeOwner: { json: { path: '/tmp/a', user: 'root' } },
  readFile: { query: '?path=/tmp/a' },
  writeFile: { query: '?path=/tmp/a', body: 'one' },
  statFile: { query: '?path=/tmp/a' },
  listFiles: { query: '?path=/tmp' },
  createBuild: { json: { name: 'app', dockerfile: 'FROM scratch' } },
  checkDockerfile: { json: { dockerfile: 'FROM scratch' } },
  createPolicy: { json: { name: 'web', include: ['npm'] } },
  createSecret: { json: { name: 'token', value: 'hunter22', hosts: ['api.example.com'] } },
  createProvider: { json: { name: 'vault', type: 'static', value: 'hunter22' } },
  createKey: { json: { name: 'ci' } },
  rotateKey: { json: {} },
  createProject: { json: { name: 'team' } },
  updateProject: { json: { quotas: { runtimes: 50 } } },
  createWebhook: { json: { url: 'https://hooks.example.com/other' } },
  rotateWebhookSecret: { json: {} },
}

/** Returns the example of a route. */
export async function exampleOf(name: RouteName): Promise<ExampleRequest> {
  if (name === 'uploadContext') return { body: await tarOf({ b: 'another' }) }
  if (name === 'writeArchive') return { query: '?path=/tmp/new', body: await tarOf({ b: 'another' }) }
  return examples[name] ?? leastRequests[name] ?? {}
}

/** The ids of things that examples are about. */
export type ExampleThings = Things & { readonly project_id: string; readonly host_id: string }

/** Makes something of each kind: a runtime with a file, a terminal and code, and a project. */
export async function exampleThings(server: TestServer): Promise<ExampleThings> {
  const { ask, engine } = server
  const things = await makeThings(ask, 'mine')
  const runtime = `/v1/agents/runtime/${things.runtime_id}`
  await ask('PUT', `${runtime}/files/content?path=/tmp/a`, { body: 'one' })
  const terminal = { command: 'cat', background: true, stdin: true, pty: { cols: 100, rows: 30 } }
  const { command_id } = (await ask('POST', `${runtime}/commands`, { json: terminal })).json
  const interpreter = giveBridge(engine, things.runtime_id)
  const run_id = makeId('code_run')
  const { context_id } = interpreter.create()
  interpreter.start({ run_id, code: 'print x' })
  const { project_id } = (await ask('POST', '/v1/agents/project', { json: { name: 'others' } })).json
  const [host] = (await ask('GET', '/v1/agents/host')).json.data
  return { ...things, command_id, context_id, run_id, project_id, host_id: host.host_id }
}
