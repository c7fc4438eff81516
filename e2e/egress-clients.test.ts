import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { PolicyBodyInput } from '@holt/protocol'
import { buildOnce, byLength } from '@holt/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeClasses } from './support/classes.ts'
import { forgetArrivals, pointName, readArrivals, rig } from './support/rig/arrivals.ts'
import { hashOfKnownBytes, knownBytesCommand } from './support/rig/known-bytes.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

// Programs that know nothing of Holt go through a policy: no proxy variables, no options for
// certificates where TLS is terminated.

const get = { methods: ['GET', 'HEAD'] }

/** `db.example.com` is spliced, all others are terminated. */
const policy: PolicyBodyInput = {
  allow: [
    { host: 'api.example.com', methods: ['GET', 'POST', 'PUT'] },
    { host: 'db.example.com' },
    { host: 'git.example.com', ...get },
    { host: 'pypi.org', ...get },
    { host: 'files.pythonhosted.org', ...get },
    { host: 'registry.npmjs.org', ...get },
  ],
}

/** Bytes of a large body. */
const bulkBytes = byLength({ short: 20_000_000, long: 100_000_000, soak: 100_000_000 })
const bulkHash = hashOfKnownBytes(bulkBytes)
let goClient: string

beforeAll(async () => {
  goClient = await buildOnce(join(import.meta.dirname, 'probe', 'egress-client'))
})

describeClasses('programs on their way out', (isolation) => {
  let runtime: TestRuntime
  /**
   * Runs it as the user whom commands have by default, in an empty directory. Answers what it says.
   */
  const say = async (script: string): Promise<string> => {
    const { exit_code, stdout, stderr } = await runtime.run(`cd "$(mktemp -d)" && ${script}`, {
      timeout_secs: 80,
    })
    expect(exit_code, `${script}\n${stdout}\n${stderr}`).toBe(0)
    return stdout.trim()
  }
  const requestsTo = async (name: string) => (await readArrivals()).requests.filter(({ sni }) => sni === name)

  beforeAll(async () => {
    runtime = await createRuntime({ isolation, network_policy: policy, timeout_secs: 600 })
    await runtime.call('PUT', '/files/content', {
      query: { path: '/tmp/rig-ca.pem' },
      body: await readFile(rig.caFile),
    })
    await runtime.call('PUT', '/files/content', { query: { path: '/tmp/client' }, body: await readFile(goClient) })
    await runtime.sh('chmod 755 /tmp/client; chmod 644 /tmp/rig-ca.pem')
    await forgetArrivals()
  })
  afterAll(() => runtime?.delete())

  it('have no proxy settings', async () => {
    expect(await runtime.sh('env | grep -ci proxy || true')).toBe('0')
  })

  it('install Python packages', async () => {
    const use = (place: string) => `PYTHONPATH=${place} python -c 'import holt_sample; print(holt_sample.answer)'`
    expect(await say(`pip install -q --target p holt-sample >&2 && ${use('p')}`)).toBe('42')
    expect(await say(`uv pip install -q --no-cache --target u holt-sample >&2 && ${use('u')}`)).toBe('42')
    expect((await requestsTo('files.pythonhosted.org')).length).toBeGreaterThanOrEqual(2)
  })

  it('install a package from npm', async () => {
    expect(await say(`npm install --silent holt-sample >&2 && node -p 'require("holt-sample")'`)).toBe('42')
    expect((await requestsTo('registry.npmjs.org')).length).toBeGreaterThanOrEqual(2)
  })

  it('clone a repository, and cannot push', async () => {
    expect(await say('git clone -q https://git.example.com/sample.git && cat sample/README')).toBe('a repository')
    const pushed = await runtime.run(
      'cd "$(mktemp -d)" && git init -q && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git push https://git.example.com/sample.git HEAD:main',
    )
    expect(pushed.exit_code).not.toBe(0)
    expect((await requestsTo('git.example.com')).every(({ method }) => method === 'GET')).toBe(true)
  })

  it('get a page with curl, wget, Python, Node, Go and openssl', async () => {
    const page = 'https://api.example.com'
    const programs: Readonly<Record<string, string>> = {
      curl1: `curl -sSf --http1.1 ${page}/curl1`,
      curl2: `curl -sSf --http2 ${page}/curl2`,
      wget: `wget -qO- ${page}/wget`,
      urllib: `python -c 'import urllib.request as u; print(u.urlopen("${page}/urllib").read().decode())'`,
      fetch: `node -e 'fetch("${page}/fetch").then((answer) => answer.text()).then(console.log)'`,
      http2: `node -e 'const c = require("http2").connect("${page}"); c.request({":path": "/http2"}).on("data", (d) => process.stdout.write(d)).on("end", () => c.close())'`,
      go: `/tmp/client ${page}/go`,
      openssl: `printf 'GET /openssl HTTP/1.1\\r\\nHost: api.example.com\\r\\nConnection: close\\r\\n\\r\\n' | openssl s_client -quiet -verify_return_error -verify_hostname api.example.com -connect api.example.com:443 -servername api.example.com 2>/dev/null`,
    }
    const script = Object.entries(programs).map(([name, line]) => `${line} > ${name} || echo "${name} failed"`)
    expect(
      await say(
        `{ ${script.join('\n')}\n}; for f in *; do grep -q '"sni":"api.example.com"' $f || { echo "$f:"; cat $f; }; done`,
      ),
    ).toBe('')
    const arrived = await requestsTo('api.example.com')
    expect(arrived.map(({ path }) => path.slice(1)).sort()).toEqual(Object.keys(programs).sort())
    const protocols = Object.fromEntries(arrived.map(({ path, protocol }) => [path.slice(1), protocol]))
    expect(protocols).toMatchObject({ curl1: 'h1', curl2: 'h2', http2: 'h2', go: 'h2' })
  })

  it('use a WebSocket', async () => {
    const script = `const ws = new WebSocket("wss://api.example.com/ws"); const say = (text) => ws.send(text)
ws.onopen = () => say("one"); ws.onerror = (e) => { console.log(e.message); process.exit(1) }
ws.onmessage = ({ data }) => { console.log(data); data === "one" ? say("two") : ws.close() }`
    expect(await say(`node -e '${script}'`)).toBe('one\ntwo')
  })

  it('get events while their stream is open', async () => {
    const script = `fetch("https://api.example.com/events").then(async ({ body }) => {
for await (const part of body) { process.stdout.write(part); process.exit(0) } })`
    expect(await say(`node -e '${script}'`)).toBe('data: first')
  })

  it('carry large bodies each way completely, terminated and spliced', async () => {
    for (const [host, options] of [
      ['api.example.com', ''],
      ['db.example.com', '--cacert /tmp/rig-ca.pem'],
    ] as const) {
      const curl = `curl -sSf ${options} https://${host}`
      expect(await say(`${curl}/known-bytes/${bulkBytes} | sha256sum`), `down from ${host}`).toContain(bulkHash)
      await say(`${knownBytesCommand(bulkBytes)} | ${curl}/upload -T - -o /dev/null`)
      const arrived = (await requestsTo(host)).find(({ path }) => path.startsWith('/upload'))
      expect(arrived, `up to ${host}`).toMatchObject({ method: 'PUT', bodyBytes: bulkBytes, bodyHash: bulkHash })
    }
  }, 400_000)

  it('reach the package index of this machine, with the certificates of the host', async () => {
    const own = Object.entries(rig.packageIndex)
    try {
      for (const [name, addresses] of own) await pointName(name, addresses)
      // The names may be remembered for a second.
      if (own.length > 0)
        await until(
          'a package comes from the index',
          async () => {
            const script = 'cd "$(mktemp -d)" && pip download -q --no-deps six && ls six-*.whl'
            return (await runtime.run(script)).exit_code === 0
          },
          60_000,
        )
    } finally {
      for (const [name] of own) await pointName(name, [rig.listedAddress])
    }
  })
})
