import { type Build, Command, type CreateBuildInput, Runtime, Template } from '@holt/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { call, failure, runtimesPath, success } from './support/api.ts'
import { describeClasses, type IsolationClass } from './support/classes.ts'
import { service } from './support/facts.ts'
import { pointName, rig } from './support/rig/arrivals.ts'
import { build, built, messagesOf, templatesPath } from './support/test-build.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'
import { visit } from './support/visit.ts'

// Templates whose application runs before a runtime is there.

const name = 'start-command-app'
const startCommandId = 'cmstartcommand00000000'
const onRestoreId = 'cmonrestore00000000000'

/** A machine without a package index tests with what the base template has. */
const hasIndex = Object.keys(rig.packageIndex).length > 0

const flaskApp = `
import flask
app = flask.Flask(__name__)
@app.get("/")
def root(): return state()
@app.get("/fetch")
def get(): return fetch()
print("up", flush=True)
app.run(host="0.0.0.0", port=8000)
`
const plainApp = `
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps(fetch() if self.path == "/fetch" else state()).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)
print("up", flush=True)
http.server.ThreadingHTTPServer(("", 8000), Handler).serve_forever()
`

/** An application that takes a while to start, and counts its requests in memory. */
const app = `
import json, os, time, urllib.request
started, count = time.time(), 0
time.sleep(1)
def state():
    global count
    count += 1
    return {"pid": os.getpid(), "count": count, "started": started, "of_create": os.environ.get("OF_CREATE"), "of_template": os.environ.get("OF_TEMPLATE")}
def fetch():
    try:
        with urllib.request.urlopen("https://api.example.com/started") as answer: return {"status": answer.status}
    except OSError as error: return {"error": repr(error)}
${hasIndex ? flaskApp : plainApp}`

/** The same in Node, which has authorities of its own. */
const nodeApp = `
require('node:http').createServer(async (request, response) => {
  if (request.url !== '/fetch') return response.end('1')
  try { response.end(String((await fetch('https://api.example.com/node')).status)) } catch (error) { response.end(String(error.cause ?? error)) }
}).listen(3000)`

const dockerfile = `
FROM holt/base-small
${hasIndex ? 'RUN pip install --quiet flask' : ''}
COPY <<'EOF' /srv/app.py
${app}
EOF
COPY <<'EOF' /srv/app.cjs
${nodeApp}
EOF
ENV OF_TEMPLATE=yes
WORKDIR /workspace
CMD ["ignored"]
`

interface State {
  readonly pid: number
  readonly count: number
  readonly started: number
  readonly of_create: string | null
  readonly of_template: string | null
}

/** Deletes a template, unless it is gone. */
async function forget(template: string): Promise<void> {
  const { status, text } = await call('DELETE', `${templatesPath}/${template}`)
  expect([204, 404], text).toContain(status)
}

describe('a template with a start command', () => {
  beforeAll(async () => {
    for (const [host, addresses] of Object.entries(rig.packageIndex)) await pointName(host, addresses)
    await forget(name)
    await built({
      name,
      dockerfile,
      // Methods have the gateway end TLS, so that the index is trusted that the host trusts.
      network_policy: { allow: Object.keys(rig.packageIndex).map((host) => ({ host, methods: ['GET', 'HEAD'] })) },
      start_cmd: 'node /srv/app.cjs & exec python /srv/app.py',
      ready_cmd: 'curl -fsS localhost:8000 && curl -fsS -o /dev/null localhost:3000',
      on_restore: 'echo "$(id -un) $PWD $OF_CREATE $(hostname)" > /tmp/restored; echo restored',
    })
  }, 300_000)
  afterAll(async () => {
    for (const host of Object.keys(rig.packageIndex)) await pointName(host, [rig.listedAddress])
    await forget(name)
  })

  it('reports when its application starts', async () => {
    const template = success(await call('GET', `${templatesPath}/${name}`), 200, Template)
    const starts = service.unavailable.gvisor === null ? 'restored' : 'boot'
    expect(template).toMatchObject({ starts, has_checkpoint: starts === 'restored', env: { OF_TEMPLATE: 'yes' } })
    expect(template.ignored).toMatchObject([{ instruction: 'CMD' }])
  })

  describeClasses('its runtimes', (isolation) => {
    const restored = isolation === 'gvisor'
    const made: TestRuntime[] = []
    let first: State
    const make = async (more: object = {}) => {
      const runtime = await createRuntime({ template: name, isolation, env: { OF_CREATE: 'yes' }, ...more })
      made.push(runtime)
      return runtime
    }
    beforeAll(async () => {
      first = await visit(await make(), 8000, '/')
    }, 120_000)
    afterAll(() => Promise.all(made.map((runtime) => runtime.delete())))

    it('answer their first request, without another start', async () => {
      const second = await visit<State>(await make(), 8000, '/')
      // The ready command's visits are in the memory of what is restored, too.
      expect(first.count).toBeGreaterThanOrEqual(2)
      if (restored) expect(second).toEqual(first)
      else expect(second.started).toBeGreaterThan(first.started)
      expect(await visit(made[0] as TestRuntime, 8000, '/')).toMatchObject({ pid: first.pid, count: first.count + 1 })
    })

    it('list the start command with its output', async () => {
      const [runtime] = made as [TestRuntime]
      const command = success(await runtime.call('GET', `/commands/${startCommandId}`), 200, Command)
      expect(command).toMatchObject({ state: 'running', cwd: '/workspace' })
      const { text } = await runtime.call('GET', `/commands/${startCommandId}/output`, { query: { follow: false } })
      expect(text).toContain('up')
      const { data } = success(await runtime.call('GET', '/commands'), 200, z.object({ data: z.array(Command) }))
      expect(data.map(({ command_id }) => command_id).sort()).toEqual([onRestoreId, startCommandId])
    })

    it('give the environment of the create to later commands', async () => {
      const [runtime] = made as [TestRuntime]
      expect(first).toMatchObject({ of_template: 'yes', of_create: restored ? null : 'yes' })
      const { stdout } = await runtime.run('echo $OF_TEMPLATE $OF_CREATE')
      expect(stdout).toBe('yes yes\n')
    })

    it('ran on_restore before the create was answered', async () => {
      const [runtime] = made as [TestRuntime]
      const hostname = await runtime.sh('hostname')
      expect(await runtime.sh('cat /tmp/restored')).toBe(`user /workspace yes ${hostname}`)
      const command = success(await runtime.call('GET', `/commands/${onRestoreId}`), 200, Command)
      expect(command).toMatchObject({ state: 'exited', exit_code: 0 })
    })

    it('let the application reach the hosts of their own policy, with TLS terminated', async () => {
      const allow = [{ host: 'api.example.com', methods: ['GET'] }]
      const runtime = await make({ network_policy: { allow } })
      expect(await visit(runtime, 8000, '/fetch')).toEqual({ status: 200 })
      expect(await visit(runtime, 3000, '/fetch')).toBe(200)
    })

    it('start it at boot if they have another size than the template', async () => {
      if (!restored) return
      const runtime = await make({ memory: '1200MiB' })
      const state = await visit<State>(runtime, 8000, '/')
      expect(state.started).toBeGreaterThan(first.started)
      expect(state.of_create).toBe('yes')
    })
  })
})

/** Holds what is hard to keep, and counts as long as all of it works. */
const holding = `
import os, pty, socket, threading, time
pid, terminal = pty.fork()
if pid == 0: os.execvp("cat", ["cat"])
listener = socket.create_server(("127.0.0.1", 9000))
def echo():
    connection, _ = listener.accept()
    while data := connection.recv(100): connection.sendall(data)
threading.Thread(target=echo, daemon=True).start()
inside = socket.create_connection(("127.0.0.1", 9000))
deleted = open("/tmp/deleted", "w+"); deleted.write("gone"); deleted.flush(); os.unlink("/tmp/deleted")
outside = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try: outside.connect(("192.0.2.1", 9)); print("has a network", flush=True)
except OSError: print("has none", flush=True)
count = 0
while True:
    os.write(terminal, b"x\\n"); assert os.read(terminal, 100)
    inside.sendall(b"y"); assert inside.recv(1) == b"y"
    deleted.seek(0); assert deleted.read() == "gone"
    count += 1
    with open("/tmp/new", "w") as file: file.write(str(count))
    os.rename("/tmp/new", "/tmp/count"); time.sleep(0.05)
`

describe.skipIf(service.unavailable.gvisor !== null && !process.env.CI)('connections that start_cmd keeps open', () => {
  const held = 'start-command-holds'
  let made: Build
  beforeAll(async () => {
    made = await built({
      name: held,
      dockerfile: `FROM holt/base-small\nCOPY <<'EOF' /srv/hold.py\n${holding}\nEOF\n`,
      start_cmd: '(python -m http.server 8000 >/dev/null 2>&1 &); exec python /srv/hold.py',
      ready_cmd: 'test -e /tmp/count && curl -fsS localhost:8000',
      no_cache: true, // What is cached says nothing of how it came about.
    })
  }, 180_000)
  afterAll(() => forget(held))

  it('continue, within the runtime and with a UDP socket over the network', async () => {
    const messages = await messagesOf(made.build_id)
    expect(messages.filter((text) => /^has|started again/.test(text))).toEqual(['has a network'])
    await using runtime = await createRuntime({ template: held, isolation: 'gvisor' })
    const count = async () => Number(await runtime.sh('cat /tmp/count'))
    const before = await count()
    await until('it goes on', async () => (await count()) > before, 30_000)
    const command = success(await runtime.call('GET', `/commands/${startCommandId}`), 200, Command)
    expect(command.state).toBe('running')
    expect(await runtime.sh('curl -fsS -o /dev/null -w "%{http_code}" localhost:8000')).toBe('200')
  })
})

describe('a template whose application does not start', () => {
  const failing = 'start-command-fails'
  afterAll(() => forget(failing))
  const outcome = async (body: Pick<CreateBuildInput, 'start_cmd' | 'ready_cmd' | 'ready_timeout_secs'>) => {
    const { status, reason } = await build({ name: failing, from_template: 'base-small', ...body })
    expect(status).toBe('failed')
    return reason
  }

  it('fails as start_cmd_failed, with the exit and the output', async () => {
    const reason = await outcome({ start_cmd: 'echo no such port >&2; exit 3', ready_cmd: 'true' })
    expect(reason).toMatchObject({ code: 'start_cmd_failed', details: { exit_code: 3 } })
    expect(reason?.message).toMatch(/exited with code 3.*no such port/s)
    const killed = await outcome({ start_cmd: 'kill -9 $$' })
    expect(killed).toMatchObject({ code: 'start_cmd_failed', details: { signal: 'SIGKILL' } })
    const greedy = await outcome({ start_cmd: 'tail /dev/zero', ready_cmd: 'false' })
    expect(greedy).toMatchObject({ code: 'start_cmd_failed' })
    expect(greedy?.message).toMatch(/more memory/)
  })

  it('fails as ready_cmd_failed if that command cannot run', async () => {
    const reason = await outcome({ start_cmd: 'sleep 600', ready_cmd: 'no-such-program --now' })
    expect(reason).toMatchObject({ code: 'ready_cmd_failed' })
    expect(reason?.message).toMatch(/127.*no-such-program/s)
  })

  it('fails as ready_timeout, with the last output of both', async () => {
    const ready = { ready_cmd: 'echo not yet; false', ready_timeout_secs: 2 }
    const reason = await outcome({ start_cmd: 'echo thinking; sleep 600', ...ready })
    expect(reason).toMatchObject({ code: 'ready_timeout', details: { ready_timeout_secs: 2 } })
    expect(reason?.message).toMatch(/not yet.*thinking/s)
  })

  it('cannot be used by a create', async () => {
    const { error } = JSON.parse((await call('POST', runtimesPath, { json: { template: failing } })).text)
    expect(error.message).toMatch(/could not be made: ready_cmd did not exit/)
  })
})

describeClasses('a runtime whose commands fail', (isolation) => {
  const template = `start-command-late-${isolation}`
  beforeAll(async () => {
    await built({
      name: template,
      from_template: 'base-small',
      start_cmd: 'test -z "$BREAK_START" && touch /tmp/up && exec sleep 600',
      ready_cmd: 'test -e /tmp/up',
      on_restore: 'echo "on_restore says no" >&2; test -z "$BREAK_RESTORE"',
    })
  }, 180_000)
  afterAll(() => forget(template))

  it('fails as on_restore_failed, and its row says so', async () => {
    await fails(isolation, { BREAK_RESTORE: '1' }, 'on_restore_failed', /code 1.*on_restore says no/s)
  })

  it('does not start again in a restored runtime, and fails as start_cmd_failed if it starts at boot', async () => {
    const env = { BREAK_START: '1' }
    if (isolation === 'container') await fails(isolation, env, 'start_cmd_failed', /start_cmd exited with code 1/)
    else await (await createRuntime({ template, isolation, env })).delete()
  })

  async function fails(
    isolation: IsolationClass,
    env: Record<string, string>,
    code: 'on_restore_failed' | 'start_cmd_failed',
    message: RegExp,
  ): Promise<void> {
    const named = `fails-${code.replaceAll('_', '-')}-${isolation}`
    const error = failure(await call('POST', runtimesPath, { json: { template, isolation, env, name: named } }), code)
    expect(error.message).toMatch(message)
    const query = { name: named, state: 'failed' }
    const { data } = success(await call('GET', runtimesPath, { query }), 200, z.object({ data: z.array(Runtime) }))
    expect(data[0]?.state_reason).toMatchObject({ code, message: expect.stringMatching(message) })
  }
})
