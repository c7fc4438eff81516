import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { publishedClients, requires } from '@holt/testkit'
import { expect, test, vi } from 'vitest'
import { startE2bServer } from '../../support/e2b-server.ts'

vi.setConfig({ testTimeout: 300_000 })

const { skip, note } = requires('python3')

/** Uses the control plane as programs do, and prints what it sees. */
const program = `
import json
from e2b import Sandbox, SandboxQuery, SandboxState

metadata = {"a b": "c&d", "k": "v"}
sandbox = Sandbox.create(metadata=metadata, timeout=60, envs={"A": "1"})
info = sandbox.get_info()
seen = {
    "template": info.name,
    "state": info.state.value,
    "metadata": info.metadata,
    "running": sandbox.is_running(),
}
sandbox.set_timeout(600)
seen["longer"] = sandbox.get_info().end_at > info.end_at
pages = Sandbox.list(query=SandboxQuery(metadata=metadata, state=[SandboxState.RUNNING]))
seen["listed"] = [one.sandbox_id for one in pages.next_items()] == [sandbox.sandbox_id]
seen["paused"] = [sandbox.pause(), sandbox.pause()]
seen["running while paused"] = sandbox.is_running()
seen["connected"] = Sandbox.connect(sandbox.sandbox_id).is_running()
seen["killed"] = [sandbox.kill(), sandbox.kill()]
seen["running at last"] = sandbox.is_running()
for name, ask in (
    ("unknown", lambda: Sandbox.get_info("x")),
    ("no template", lambda: Sandbox.create("nope")),
):
    try:
        ask()
    except Exception as error:
        seen[name] = [type(error).__name__, str(error)]
print(json.dumps(seen))
`

test.skipIf(skip)(`the Python client sees what it expects${note}`, async () => {
  const [server, clients] = await Promise.all([startE2bServer(), publishedClients('python-sdk')])
  const key = (await server.ask('POST', '/v1/agents/key', { json: { name: 'a client', format: 'e2b' } })).json.key
  const { url } = server.server
  const env = {
    PATH: process.env.PATH ?? '',
    PYTHONWARNINGS: 'ignore',
    E2B_API_KEY: key,
    E2B_API_URL: url,
    E2B_SANDBOX_URL: url,
  }
  const { stdout } = await promisify(execFile)(join(clients, 'bin/python'), ['-c', program], { env, timeout: 120_000 })
  expect(JSON.parse(stdout)).toEqual({
    template: 'base-small',
    state: 'running',
    metadata: { 'a b': 'c&d', k: 'v' },
    running: true,
    longer: true,
    listed: true,
    paused: [true, false],
    'running while paused': false,
    connected: true,
    killed: [true, false],
    'running at last': false,
    unknown: ['SandboxNotFoundException', expect.any(String)],
    'no template': ['SandboxException', expect.stringContaining("template 'nope' not found")],
  })
})
