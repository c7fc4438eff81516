import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BuildContext, BuildStarted, type CreateRuntimeInput, Port, Template } from '@holt/protocol'
import { Holt } from '@holt/sdk'
import { testLength } from '@holt/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, success } from './support/api.ts'
import { describeClasses, type IsolationClass } from './support/classes.ts'
import { CodeReader } from './support/code-pages.ts'
import { restartWith } from './support/crash.ts'
import { service } from './support/facts.ts'
import { fetchOnce } from './support/fetch-once.ts'
import { send } from './support/http.ts'
import { McpAgent, makeKey, workScopes } from './support/mcp-agent.ts'
import { sumOf } from './support/metrics.ts'
import { pointName, rig } from './support/rig/arrivals.ts'
import { npmHost } from './support/rig/package-index.ts'
import { built, getBuild, messagesOf, templatesPath } from './support/test-build.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

// The bridge of the template code-interpreter in runtimes. Tests beside it cover its protocol.

const directory = join(import.meta.dirname, '../templates/code-interpreter')
const settings = JSON.parse(readFileSync(join(directory, 'template.json'), 'utf8'))
const { context, start_cmd, ready_cmd, ready_timeout_secs, build_network } = settings

/** The port of the bridge. */
const bridgePort = 49_999

/** A short run has the template without the packages for science, which are hundreds of MB. */
const isWhole = testLength() !== 'short'
const name = isWhole ? 'code-interpreter' : 'code-interpreter-small'

/** The build fetches packages, starts kernels and takes a checkpoint. */
const buildTimeoutMs = 30 * 60_000

interface Line {
  readonly type: string
  readonly text?: string
  readonly status?: string
  readonly state_lost?: boolean
  readonly truncated?: boolean
  readonly data?: Readonly<Record<string, string>>
}

/** The answer of a run. */
interface Ran {
  readonly lines: readonly Line[]
  readonly end: Line
  readonly stdout: string
  readonly result: string | undefined
}

async function ask(runtime: TestRuntime, method: string, path: string, json?: object) {
  const port = success(await runtime.call('GET', `/ports/${bridgePort}`), 200, Port)
  const answer = await send(service.url, {
    method,
    target: `${runtime.path}/ports/${bridgePort}/proxy${path}`,
    headers: { 'x-holt-port-token': port.token, 'content-type': 'application/json' },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  })
  const text = answer.bytes.toString()
  expect(answer.status, text).toBe(200)
  return text
}

async function run(runtime: TestRuntime, code: string, more: object = {}): Promise<Ran> {
  const text = await ask(runtime, 'POST', '/v1/runs', { code, timeout_secs: 60, ...more })
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
  const end = lines.at(-1) ?? { type: 'nothing' }
  expect(end.type, text.slice(-2000)).toBe('end')
  const stdout = lines.map(({ type, text: piece }) => (type === 'stdout' ? piece : '')).join('')
  return { lines, end, stdout, result: lines.find(({ type }) => type === 'result')?.data?.['text/plain'] }
}

async function make(isolation: IsolationClass, more: CreateRuntimeInput = {}): Promise<TestRuntime> {
  return createRuntime({ template: name, isolation, ...more })
}

async function buildSmall(): Promise<void> {
  const tar = execFileSync('tar', ['-c', '-C', directory, ...context])
  const { context_id } = success(await call('POST', `${templatesPath}/context`, { body: tar }), 201, BuildContext)
  await built({
    ...{ name, context_id, start_cmd, ready_cmd, ready_timeout_secs },
    dockerfile: readFileSync(join(directory, 'Dockerfile'), 'utf8'),
    build_args: { PACKAGES: 'kernels' },
    network_policy: build_network,
    ...{ cpu: 2, memory: '1GiB', disk: '6GiB' },
  })
}

async function buildWhole(): Promise<void> {
  const pulled = await call('POST', `${templatesPath}/${name}/pull`, { json: {} })
  const { build_id } = success(pulled, 202, BuildStarted)
  const ended = async () => {
    const build = await getBuild(build_id)
    return build.ended_at === null ? null : build
  }
  const { status } = await until('the build has ended', ended, buildTimeoutMs)
  expect(status, status === 'ready' ? '' : (await messagesOf(build_id)).join('\n')).toBe('ready')
}

beforeAll(async () => {
  const hosts = { ...rig.packageIndex, [npmHost]: rig.npmRegistry }
  expect(Object.values(hosts).flat().length, 'FIX: the package index and npm have to be reachable').toBeGreaterThan(2)
  await call('DELETE', `${templatesPath}/${name}`)
  for (const [host, addresses] of Object.entries(hosts)) await pointName(host, addresses)
  await (isWhole ? buildWhole() : buildSmall())
}, buildTimeoutMs)

afterAll(async () => {
  for (const host of [...Object.keys(rig.packageIndex), npmHost]) await pointName(host, [rig.listedAddress])
  await call('DELETE', `${templatesPath}/${name}`)
}, 120_000)

it('is a template whose runtimes begin with warm kernels', async () => {
  const template = success(await call('GET', `${templatesPath}/${name}`), 200, Template)
  expect(template).toMatchObject({ state: 'ready', user: 'user', workdir: '/workspace', cpu: 2, start_cmd })
  if (isWhole) expect(template).toMatchObject({ kind: 'agent', memory_mib: 4096, disk_mib: 8192 })
})

describe.runIf(isWhole)('as on the page', () => {
  let reader: CodeReader
  beforeAll(async () => {
    reader = await CodeReader.open()
  })
  afterAll(() => reader?.[Symbol.asyncDispose]())

  it.each([
    ['sh', ['typed', '42', 'of pandas 3', 'of javascript 42']],
    ['ts', ['ok', 'as it comes']],
    ['python', ['ok 42']],
  ] as const)('the blocks of %s run', { timeout: 600_000 }, async (language, expected) => {
    const output = await reader.typeBlocks(language)
    for (const text of expected) expect(output).toContain(text)
  })

  it('the notebook of the examples runs', { timeout: 600_000 }, async () => {
    const shown = await reader.runNotebook()
    for (const text of ['[1, 4, 9, 16, 25]', 'image/png', 'step 2', 'error AttributeError', 'timed_out 5'])
      expect(shown).toContain(text)
    expect(shown).toContain('the answer is 42')
    expect(shown).toContain("['5', '6']")
  })
})

describeClasses('code in a runtime', (isolation) => {
  let runtime: TestRuntime
  beforeAll(async () => {
    runtime = await make(isolation)
  }, 120_000)
  afterAll(() => runtime.delete())

  it('runs in kernels that are ready', async () => {
    const { languages } = JSON.parse(await ask(runtime, 'GET', '/health')) as {
      languages: { language: string; running: boolean }[]
    }
    const running = languages.flatMap(({ language, running }) => (running ? [language] : []))
    expect(running.sort()).toEqual(['javascript', 'python'])
    expect(await run(runtime, '1 + 1')).toMatchObject({ result: '2', end: { status: 'ok', state_lost: false } })
    expect(await run(runtime, '[1, 2].map((x) => x + 1)', { language: 'javascript' })).toMatchObject({
      result: '[ 2, 3 ]',
    })
    const typed = await run(runtime, 'const n: number = 3; n', { language: 'typescript' })
    expect(typed).toMatchObject({ result: '3', end: { status: 'ok' } })
    expect((await run(runtime, 'echo "$PWD $(id -un)"', { language: 'bash' })).stdout.trim()).toBe('/workspace user')
  }, 180_000)

  it('runs code of the clients in contexts that keep their variables', async () => {
    const holt = new Holt({ url: service.url, apiKey: service.key, fetch: fetchOnce })
    const { code } = await holt.runtimes.get(runtime.id)
    const context = await code.contexts.create({ language: 'python', cwd: '/tmp' })
    await code.run('import os; kept = 20', { context })
    const pieces: string[] = []
    const ran = await code.run('print(os.getcwd()); kept + 22', { context, onStdout: (text) => pieces.push(text) })
    expect(ran).toMatchObject({ status: 'ok', stdout: '/tmp\n', error: null })
    expect(ran.results.map(({ data }) => data['text/plain'])).toEqual(['42'])
    expect(pieces.join('')).toBe('/tmp\n')
    const failed = await code.run('1 / 0', { context })
    expect(failed).toMatchObject({ status: 'error', error: { name: 'ZeroDivisionError' } })
    expect(await code.run('kept')).toMatchObject({ error: { name: 'NameError' } })
    const slow = await code.run('import time; time.sleep(600)', { context, timeout_secs: 1 })
    expect(slow).toMatchObject({ status: 'timed_out' })
    expect((await code.contexts.list().all()).map(({ context_id }) => context_id)).toContain(context.context_id)
    await code.contexts.delete(context)
    await expect(code.run('1', { context })).rejects.toMatchObject({ code: 'code_context_not_found' })
  }, 180_000)

  it.each([
    ['the interpreter', 'os.kill(os.getppid(), 9)'],
    ['all programs of its user', 'os.kill(-1, 9)'],
  ])('runs the next code after code has killed %s, and reports the loss', { timeout: 180_000 }, async (_, kill) => {
    const holt = new Holt({ url: service.url, apiKey: service.key, fetch: fetchOnce })
    const { code } = await holt.runtimes.get(runtime.id)
    const context = await code.contexts.create({ cwd: '/tmp' })
    await code.run('kept = 1', { context })
    const killed = await code.run(`import os, time; ${kill}; time.sleep(600)`)
    expect(killed).toMatchObject({ status: 'kernel_died', state_lost: true, error: { name: 'InterpreterKilled' } })
    const next = await code.run('import os; os.getcwd()', { context })
    expect(next).toMatchObject({ status: 'ok', state_lost: true, results: [{ data: { 'text/plain': "'/tmp'" } }] })
    expect(await code.run('kept', { context })).toMatchObject({ error: { name: 'NameError' }, state_lost: false })
    await code.contexts.delete(context)
  })

  it('has the variables of the runtime, in runs and for clients of E2B', async () => {
    await using own = await make(isolation, { env: { GIVEN: 'to the runtime' } })
    const code = "import os; os.environ['GIVEN']"
    expect((await run(own, code)).result).toBe("'to the runtime'")
    const context = JSON.parse(await ask(own, 'POST', '/v1/contexts', { language: 'python' })) as object
    expect((await run(own, code, context)).result).toBe("'to the runtime'")
    expect((await run(own, "Deno.env.get('GIVEN')", { language: 'javascript' })).result).toBe('"to the runtime"')
    expect((await run(own, 'echo "$GIVEN"', { language: 'bash' })).stdout.trim()).toBe('to the runtime')
    const [line = ''] = (await ask(own, 'POST', '/execute', { code })).split('\n')
    expect(JSON.parse(line)).toMatchObject({ type: 'result', text: "'to the runtime'" })
  }, 120_000)

  it('is the work of an agent through MCP', async () => {
    await using agent = await McpAgent.connect('http', await makeKey(...workScopes))
    const use = (name: string, args: object = {}) => agent.use(name, { runtime: runtime.id, ...args })
    await use('run_code', { code: 'kept = 20' })
    expect(await use('run_code', { code: "print('seen'); kept + 22" })).toMatch(
      /^The code ended [\s\S]*--- stdout ---\nseen\n[\s\S]*--- result ---\n42/,
    )
    expect(await use('run_code', { code: '1 / 0' })).toContain('--- error ---\nZeroDivisionError')
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII='
    const code = `import base64, IPython.display; IPython.display.Image(base64.b64decode('${pixel}'))`
    const { content } = await agent.call('run_code', { runtime: runtime.id, code })
    expect(content).toContainEqual({ type: 'image', data: pixel, mimeType: 'image/png' })
    const long = await use('run_code', { code: 'for i in range(100_000): print(i)' })
    const [, run_id, cursor] = /run_id (cr\w+) and cursor (\d+)/.exec(long) ?? []
    const last = Number(/\n(\d+)\n\[…/.exec(long)?.[1])
    const rest = await use('read_code_output', { run_id, cursor: Number(cursor) })
    expect(Number(rest.split('\n')[0])).toBe(last + 1)
    const { context_id } = JSON.parse(await use('create_code_context', { language: 'javascript' }))
    expect(await use('run_code', { code: '6 * 7', context_id })).toContain('--- result ---\n42')
    expect(await use('list_code_contexts')).toContain(context_id)
    await use('delete_code_context', { context_id })
  }, 180_000)

  it('answers results in every form, and each display as it comes', async () => {
    const holt = new Holt({ url: service.url, apiKey: service.key, fetch: fetchOnce })
    const { code } = await holt.runtimes.get(runtime.id)
    const forms = {
      'text/plain': 'plain ü 😀',
      'text/html': '<b>bold</b>',
      'text/markdown': '# title',
      'image/svg+xml': '<svg xmlns="http://www.w3.org/2000/svg"/>',
      'image/png': 'iVBORw0KGgo=',
      'image/jpeg': '/9j/4AAQSkY=',
      'application/pdf': 'JVBERi0xLjQ=',
      'text/latex': '$x^2$',
      'application/json': { list: [1, null, 'three'] },
      'application/javascript': 'alert(1)',
    }
    const text = `
import IPython.display, json, os, time
IPython.display.display(json.loads(${JSON.stringify(JSON.stringify(forms))}), raw=True)
while not os.path.exists('/tmp/seen-${isolation}'): time.sleep(0.01)
'last'`
    const shown: object[] = []
    let touched: Promise<string> | null = null
    const ran = await code.run(text, {
      timeout_secs: 60,
      // The code waits for this, so the display came before the end.
      onResult: ({ data }) => {
        if (shown.push(data) === 1) touched = runtime.sh(`touch /tmp/seen-${isolation}`)
      },
    })
    await touched
    expect(ran).toMatchObject({ status: 'ok', results: [{ data: forms, main: false }, { main: true }] })
    expect(shown).toEqual([forms, { 'text/plain': "'last'" }])
    expect(ran.execution_count).toBeGreaterThan(0)
  }, 120_000)

  it('is interrupted with its variables, and restarted without', async () => {
    const holt = new Holt({ url: service.url, apiKey: service.key, fetch: fetchOnce })
    const { code } = await holt.runtimes.get(runtime.id)
    const context = await code.contexts.create({ language: 'python' })
    await code.run('kept = 1', { context })
    const begun = Promise.withResolvers<void>()
    const running = code.run("import time; print('begun', flush=True); time.sleep(600)", {
      context,
      onStdout: () => begun.resolve(),
    })
    await begun.promise
    await code.contexts.interrupt(context)
    expect(await running).toMatchObject({ status: 'interrupted', state_lost: false })
    expect(await code.run('kept', { context })).toMatchObject({ results: [{ data: { 'text/plain': '1' } }] })
    await code.contexts.restart(context)
    expect(await code.run('kept', { context })).toMatchObject({ error: { name: 'NameError' } })
    await code.contexts.delete(context)
  }, 120_000)

  it('reports 20 MiB of output', async () => {
    const { stdout, end } = await run(runtime, "for i in range(20 * 1024): print('x' * 1023)")
    expect({ bytes: stdout.length, ...end }).toMatchObject({ bytes: 20 * 2 ** 20, status: 'ok', truncated: false })
  }, 120_000)

  it('loses only its own context when it takes too much memory', async () => {
    await using small = await make(isolation, isWhole ? { memory: '1GiB' } : {})
    const made = JSON.parse(await ask(small, 'POST', '/v1/contexts', { language: 'python' })) as { context_id: string }
    await run(small, 'kept = 42')
    const greedy = await run(small, 'data = []\nwhile True: data.append(bytearray(b"x") * 2**24)', made)
    expect(greedy.end).toMatchObject({ status: 'out_of_memory', state_lost: true })
    expect((await run(small, 'kept')).result).toBe('42')
    expect((await run(small, "'again'", made)).result).toBe("'again'")
  }, 180_000)

  it('loses only its own context when it sends too much at once', async () => {
    const made = JSON.parse(await ask(runtime, 'POST', '/v1/contexts', { language: 'python' })) as object
    await run(runtime, 'kept = 42')
    const code = "get_ipython().kernel.iopub_thread.socket.send_multipart([b''] * 2000); import time; time.sleep(60)"
    const flood = await run(runtime, code, made)
    expect(flood.end).toMatchObject({ status: 'kernel_died', state_lost: true })
    expect(JSON.stringify(flood.lines)).toContain('sent a message of more than 1000 frames, which is the limit')
    expect((await run(runtime, 'kept')).result).toBe('42')
    expect((await run(runtime, "'again'", made)).result).toBe("'again'")
    const large = await run(runtime, "display({'text/plain': 'x' * 40 * 2**20}, raw=True)")
    expect(large.end).toMatchObject({ status: 'error', state_lost: false })
    expect((await run(runtime, 'kept')).result).toBe('42')
  }, 120_000)

  it.skipIf(Object.keys(rig.packageIndex).length === 0 && !process.env.CI)(
    'installs packages that the policy lets in',
    async () => {
      const allow = Object.keys(rig.packageIndex).map((host) => ({ host, methods: ['GET', 'HEAD'] }))
      await using own = await make(isolation, { network_policy: { allow } })
      const installed = await run(own, '%pip install --quiet iniconfig==2.0.0')
      expect(installed.end.status, JSON.stringify(installed.lines)).toBe('ok')
      const found = await run(own, "import iniconfig, importlib.metadata as m; m.version('iniconfig')")
      expect(found.result).toBe("'2.0.0'")
    },
    180_000,
  )

  it.runIf(isWhole)(
    'has packages for science, and charts as data',
    async () => {
      const code = `
import numpy, pandas, scipy.stats, sklearn.linear_model, PIL.Image, requests, openpyxl, plotly.express
import matplotlib.pyplot as plt
frame = pandas.DataFrame({"x": [1, 2, 3], "y": [2.0, 4.0, 6.0]})
plt.plot(frame.x, frame.y); plt.show()
plotly.express.line(frame, x="x", y="y").show()
frame`
      const { lines, end } = await run(runtime, code)
      expect(end.status, JSON.stringify(lines.at(-2))).toBe('ok')
      const forms = lines.flatMap(({ data }) => Object.keys(data ?? {}))
      for (const mime of [
        'image/png',
        'application/vnd.holt.chart+json',
        'application/vnd.plotly.v1+json',
        'text/html',
      ])
        expect(forms).toContain(mime)
      const picture = lines.map(({ data }) => data?.['image/png']).find((form) => form !== undefined)
      expect(picture).toMatch(/^iVBORw0KGgo/) // the signature of PNG (W3C, section 5.2)
      const shown = await run(runtime, 'plotly.express.bar(frame, x="x", y="y")')
      // A figure of plotly displays itself, also as the last value.
      const [chart] = shown.lines.flatMap(({ data }) => data?.['application/vnd.plotly.v1+json'] ?? [])
      expect(chart).toMatchObject({ data: [{ type: 'bar' }] })
    },
    180_000,
  )
})

describeClasses('a pooled runtime', (isolation) => {
  const pool = { template: name, isolation }
  beforeAll(() => restartWith({ HOLT_POOL_MIN: '1', HOLT_POOL_MAX: '2', HOLT_ISOLATION: isolation }), 120_000)
  afterAll(() => restartWith({}), 120_000)

  it('answers its first run without starting anything', async () => {
    await (await make(isolation)).delete()
    const waits = async () => (await sumOf('holt_pool_members', { ...pool, state: 'ready' })) > 0
    await until('a member waits', waits, 120_000)
    const hits = await sumOf('holt_pool_hits_total', pool)
    await using runtime = await make(isolation)
    expect(await sumOf('holt_pool_hits_total', pool)).toBe(hits + 1)
    // The command that lists them has brackets in its own words.
    const kernels = () =>
      runtime.sh(
        `for p in /proc/[0-9]*; do if tr '\\0' ' ' < $p/cmdline | grep -qE '[l]aunch.py|[d]eno|[h]olt_code'; then echo $p; fi; done`,
      )
    const before = await kernels()
    expect(before.split('\n').length).toBeGreaterThanOrEqual(3)
    expect(await run(runtime, '1 + 1')).toMatchObject({ result: '2', end: { status: 'ok' } })
    expect((await run(runtime, '1 + 2', { language: 'javascript' })).result).toBe('3')
    expect(await kernels()).toBe(before)
  }, 240_000)
})

describe.skipIf(service.unavailable.gvisor !== null && !process.env.CI)('contexts of a runtime in gVisor', () => {
  const draws = [
    { language: 'python', code: 'import random; random.random()' },
    { language: 'javascript', code: '[Math.random(), crypto.randomUUID()]' },
  ] as const
  let source: TestRuntime
  beforeAll(async () => {
    source = await make('gvisor')
    await run(source, 'import random; random.seed(1); kept = [random.random()]')
    await run(source, 'let kept = Math.random()', { language: 'javascript' })
  }, 180_000)
  afterAll(() => source.delete())

  const keeps = async (runtime: TestRuntime) => {
    expect((await run(runtime, 'len(kept)')).result).toBe('1')
    expect((await run(runtime, 'typeof kept', { language: 'javascript' })).result).toBe('"number"')
  }

  it('keep their variables over a pause', async () => {
    await source.pause()
    await source.resume()
    await keeps(source)
  }, 120_000)

  it('keep their variables in forks and snapshots, with random numbers of their own', async () => {
    const children = await source.fork({ count: 2 })
    const snapshot = await source.snapshot()
    const others = [...children, await createRuntime({ snapshot: snapshot.snapshot_id })]
    try {
      for (const runtime of others) await keeps(runtime)
      for (const { language, code } of draws) {
        const drawn: (string | undefined)[] = []
        for (const runtime of [source, ...others]) drawn.push((await run(runtime, code, { language })).result)
        expect(new Set(drawn).size, `${language}: ${drawn.join(' ')}`).toBe(drawn.length)
      }
    } finally {
      await Promise.all(others.map((runtime) => runtime.delete()))
      await call('DELETE', `/v1/agents/snapshot/${snapshot.snapshot_id}`)
    }
  }, 240_000)
})
