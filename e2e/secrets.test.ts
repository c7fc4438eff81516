import { createPublicKey, type JsonWebKey, randomBytes, verify } from 'node:crypto'
import { join } from 'node:path'
import { NetworkLogItem, type PolicyBodyInput, Provider, Secret } from '@holt/protocol'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { call, success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { holt } from './support/cli.ts'
import { service } from './support/facts.ts'
import { filesWith, findBytes } from './support/files-with.ts'
import { forgetArrivals, readArrivals } from './support/rig/arrivals.ts'
import { placesOf } from './support/rig/find-text.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

// Secrets reach their hosts and no others. The tests read them where they arrive.

const probes = join(import.meta.dirname, 'probe')

const secretsPath = '/v1/agents/secret'
const providersPath = '/v1/agents/identity-provider'

/** A value that nothing else in the world has. */
const newValue = () => `e2e-value-${randomBytes(15).toString('hex')}`

const policy: PolicyBodyInput = {
  allow: [
    { host: 'api.example.com', ports: [80, 443] },
    { host: 'mismatch.example.com' },
    { host: 'db.example.com', methods: ['GET'] },
    { host: 'other.example.com' },
    { host: 'deep.api.example.com' },
    { host: 'git.example.com' },
  ],
  include: ['anthropic'],
}

describeClasses('secrets', (isolation) => {
  let runtime: TestRuntime
  const named = (what: string) => `${what}-${isolation}`
  const values = { key: newValue(), git: newValue(), anthropic: newValue(), client: newValue(), rotated: newValue() }
  const secrets = [named('key'), named('git'), 'anthropic', named('oauth'), named('workload')]

  const store = async (json: object) => success(await call('POST', secretsPath, { json }), 201, Secret)
  const provide = async (json: object) => success(await call('POST', providersPath, { json }), 201, Provider)
  const places = async (text: string) => placesOf(text, await readArrivals())
  const curl = (line: string) => runtime.sh(`curl -sS --max-time 60 ${line}`)

  beforeAll(async () => {
    const hosts = ['api.example.com', 'mismatch.example.com']
    await store({ name: named('key'), value: values.key, hosts, header: 'x-api-key', env_name: 'KEY' })
    await store({ name: named('git'), value: values.git, hosts: ['git.example.com'], env_name: 'GIT_TOKEN' })
    await store({ name: 'anthropic', value: values.anthropic })
    const client = { token_url: 'https://token.example.com/token', client_id: 'holt', client_secret: values.client }
    await provide({ name: named('oauth'), type: 'oauth2', ...client })
    await provide({ name: named('workload'), type: 'workload', audience: 'sts.example.com' })
    const oauth = { name: named('oauth'), provider: named('oauth'), hosts: ['other.example.com'] }
    await store({ ...oauth, env_name: 'OAUTH' })
    const workload = { name: named('workload'), provider: named('workload'), hosts: ['deep.api.example.com'] }
    await store({ ...workload, env_name: 'WORKLOAD' })
    runtime = await createRuntime({ isolation, network_policy: policy, secrets, timeout_secs: 600 })
  })
  afterAll(async () => {
    await runtime?.delete()
    for (const secret of secrets) await call('DELETE', `${secretsPath}/${secret}`)
    for (const provider of ['oauth', 'workload']) await call('DELETE', `${providersPath}/${named(provider)}`)
  })

  it('arrive in their own header, and nowhere else in the same request', async () => {
    await forgetArrivals()
    const everywhere = `-H "x-api-key: $KEY" -H "x-other: $KEY" -H "authorization: Bearer $KEY" -H "cookie: c=$KEY" -d "$KEY" "https://api.example.com/$KEY?q=$KEY"`
    for (const version of ['--http1.1', '--http2']) await curl(`${version} ${everywhere}`)
    const arrived = await readArrivals()
    expect(arrived.requests.map(({ protocol }) => protocol)).toEqual(['h1', 'h2'])
    expect(placesOf(values.key, arrived)).toEqual(['api.example.com header x-api-key'])
    expect(placesOf('holt-placeholder-', arrived)).toEqual([
      'api.example.com body',
      'api.example.com header authorization',
      'api.example.com header cookie',
      'api.example.com header x-other',
      'api.example.com path',
    ])
    const headers = arrived.requests.map(({ rawHeaders }) => rawHeaders[rawHeaders.indexOf('x-api-key') + 1])
    expect(headers).toEqual([values.key, values.key])
  })

  it('are not sent over plain HTTP, to other hosts, after redirects, or with an invalid certificate', async () => {
    await forgetArrivals()
    const send = '-H "x-api-key: $KEY"'
    await curl(`${send} http://api.example.com/plain`)
    await curl(`${send} https://db.example.com/other`)
    await curl(`-L ${send} 'https://api.example.com/redirect?to=https%3A%2F%2Fdb.example.com%2Flanded'`)
    await curl(`-L ${send} 'https://api.example.com/redirect?to=http%3A%2F%2Fapi.example.com%2Flanded'`)
    const told = await curl(`${send} -w '%{http_code}' https://mismatch.example.com/mismatch`)
    expect(told).toMatch(/certificate[\s\S]*502$/)
    const arrived = await readArrivals()
    expect(arrived.requests.map(({ path }) => path.replace(/\?.*/, '')).sort()).toEqual(
      ['/landed', '/landed', '/other', '/plain', '/redirect', '/redirect'].sort(),
    )
    expect(placesOf(values.key, arrived)).toEqual(['api.example.com header x-api-key'])
    expect(
      arrived.requests.filter(({ rawHeaders }) => rawHeaders.includes(values.key)).map(({ path }) => path.slice(0, 9)),
    ).toEqual(['/redirect', '/redirect'])
  })

  it('are masked in answers', async () => {
    for (const version of ['--http1.1', '--http2']) {
      for (const path of ['echo', 'gzip', 'body']) {
        const answer = await curl(`${version} -i -H "x-api-key: $KEY" https://api.example.com/${path}`)
        expect(answer, path).toContain('holt-placeholder')
        expect(answer, path).not.toContain(values.key)
      }
    }
    const script = `const { headers } = await fetch("https://api.example.com/echo", { headers: { "x-api-key": process.env.KEY } })
console.log(headers.get("x-echo"))`
    const echoed = await runtime.run(['node', '--input-type=module', '-e', script])
    expect(echoed.stdout).toContain('holt-placeholder')
    expect(echoed.stdout).not.toContain(values.key)
  })

  it('work with the clients of model vendors and git', async () => {
    await forgetArrivals()
    await curl('-H "x-api-key: $ANTHROPIC_API_KEY" -d "{}" https://api.anthropic.com/v1/messages')
    expect(await places(values.anthropic)).toEqual(['api.anthropic.com header x-api-key'])
    await runtime.sh(
      'cd "$(mktemp -d)" && git -c http.proactiveAuth=basic clone -q "https://x:$GIT_TOKEN@git.example.com/sample.git"',
    )
    expect(await places(values.git)).toEqual(['git.example.com header authorization'])
  })

  it('come from a token endpoint, once for many requests', async () => {
    await forgetArrivals()
    await runtime.sh('for i in 1 2 3; do curl -sS -H "authorization: Bearer $OAUTH" https://other.example.com/$i; done')
    const arrived = await readArrivals()
    expect(placesOf('rig-access-token-', arrived)).toEqual(['other.example.com header authorization'])
    expect(arrived.requests.filter(({ sni }) => sni === 'token.example.com')).toMatchObject([
      { method: 'POST', path: '/token', body: 'grant_type=client_credentials' },
    ])
    expect(placesOf(values.client, arrived)).toEqual(['token.example.com header authorization'])
  })

  it('are tokens of this service that a verifier accepts', async () => {
    await forgetArrivals()
    await curl('-H "authorization: Bearer $WORKLOAD" https://deep.api.example.com/who')
    const [arrived] = (await readArrivals()).requests
    const field = arrived?.rawHeaders[arrived.rawHeaders.indexOf('authorization') + 1] ?? ''
    const [head = '', claims = '', signature = ''] = field.replace(/^Bearer /, '').split('.')
    const parse = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
    const { jwks_uri, issuer } = JSON.parse(
      (await call('GET', '/.well-known/openid-configuration', { key: null })).text,
    )
    const { keys } = JSON.parse((await call('GET', new URL(jwks_uri).pathname, { key: null })).text)
    const jwk = keys.find(({ kid }: { kid: string }) => kid === parse(head).kid) as JsonWebKey
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    expect(verify('sha256', Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, 'base64url'))).toBe(true)
    expect(parse(claims)).toMatchObject({ iss: issuer, aud: 'sts.example.com', runtime_id: runtime.id })
  })

  it('are named in the log, without their value', async () => {
    const { text } = await runtime.call('GET', '/network/log')
    const items = text
      .trim()
      .split('\n')
      .map((line) => NetworkLogItem.parse(JSON.parse(line)))
    expect(items.some((item) => 'secret' in item && item.secret === named('key') && item.allowed)).toBe(true)
    for (const value of Object.values(values)) expect(text).not.toContain(value)
  })

  it('change with the next request of an open connection, and a deletion closes connections', async () => {
    await forgetArrivals()
    // One connection, and a request on it whenever the test says so.
    const script = `const http2 = require("node:http2"), rl = require("node:readline").createInterface({ input: process.stdin })
const session = http2.connect("https://api.example.com"); session.on("error", () => {}); session.on("close", () => console.log("closed"))
const ask = (path) => { const stream = session.request({ ":path": path, "x-api-key": process.env.KEY }); stream.on("error", () => {})
stream.on("response", (head) => console.log(path, head[":status"])); stream.resume() }
rl.on("line", ask); ask("/events")`
    const started = await runtime.call('POST', '/commands', {
      json: { argv: ['node', '-e', script], stdin: true, background: true },
    })
    const { command_id } = JSON.parse(started.text)
    const shows = (what: RegExp) =>
      until(
        `the program says ${what}`,
        async () => what.test((await runtime.call('GET', `/commands/${command_id}/output`)).text),
        60_000,
      )
    const type = (line: string) =>
      runtime.call('POST', `/commands/${command_id}/stdin`, { json: { data: `${line}\n` } })
    await shows(/events 200/)
    expect(await places(values.key)).toEqual(['api.example.com header x-api-key'])
    const rotated = await call('PUT', `${secretsPath}/${named('key')}`, { json: { value: values.rotated } })
    expect(success(rotated, 200, Secret).version).toBe(2)
    await forgetArrivals()
    await type('/after-rotation')
    await shows(/after-rotation 200/)
    const arrived = await readArrivals()
    expect(arrived.connections).toEqual([])
    expect(placesOf(values.rotated, arrived)).toEqual(['api.example.com header x-api-key'])
    expect(placesOf(values.key, arrived)).toEqual([])
    await forgetArrivals()
    expect((await call('DELETE', `${secretsPath}/${named('key')}`)).status).toBe(204)
    expect(await curl('-w "%{http_code}" -H "x-api-key: $KEY" https://api.example.com/after-deletion')).toMatch(
      /secret_unavailable[\s\S]*403$/,
    )
    await shows(/closed/)
    expect((await readArrivals()).requests).toEqual([])
  })

  it('are nowhere: not in answers, the database, the log, files or the environment', async () => {
    const value = newValue()
    const json = { name: named('replayed'), value, hosts: ['api.example.com'] }
    const headers = { 'idempotency-key': `replayed-${randomBytes(8).toString('hex')}` }
    const answers = [
      await call('POST', secretsPath, { json, headers }),
      await call('POST', secretsPath, { json, headers }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([201, 201])
    for (const path of [
      secretsPath,
      `${secretsPath}/${named('replayed')}`,
      providersPath,
      '/v1/agents/runtime',
      `${runtime.path}/network`,
      runtime.path,
    ])
      answers.push(await call('GET', path))
    expect((await call('DELETE', `${secretsPath}/${named('replayed')}`)).status).toBe(204)
    const all = [...Object.values(values), value]
    const sought = all.flatMap((text) => [text, Buffer.from(text).toString('base64').replace(/=+$/, '')])
    for (const text of sought) for (const answer of answers) expect(answer.text).not.toContain(text)
    const inside = await runtime.sh('cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr "\\0" "\\n"')
    expect(inside).toContain('holt-placeholder-')
    for (const text of sought) expect(inside).not.toContain(text)
    // The search finds a text that is in a file. Then it finds no secret.
    expect(await filesWith(probes, ['SEEK_DATA): disks are large'])).toContain(findBytes)
    expect(await filesWith(service.stateDir, sought)).toEqual([])
  })

  it('are inside on request, and the runtime says so', async () => {
    const value = newValue()
    await store({ name: named('inside'), value, env: true, env_name: 'INSIDE' })
    try {
      await using open = await createRuntime({ isolation, secrets: [named('inside')] })
      expect(open.data).toMatchObject({ secrets: [named('inside')], secrets_inside: true })
      expect(await open.sh('echo $INSIDE')).toBe(value)
      expect((await open.call('GET', '')).text).not.toContain(value)
    } finally {
      await call('DELETE', `${secretsPath}/${named('inside')}`)
    }
  })
})

it('are set, listed and removed on the command line, which shows no value', async () => {
  const name = `cli-${randomBytes(4).toString('hex')}`
  const value = newValue()
  const set = ['secret', 'set', name, '--host', 'api.example.com', '--from-env', 'E2E_VALUE']
  const told = [
    await holt(set, { env: { E2E_VALUE: value } }),
    await holt(['secret', 'ls']),
    await holt(['secret', 'ls', '--json']),
  ]
  told.push(await holt(['secret', 'rm', name]))
  for (const { code, stdout, stderr } of told) {
    expect(code, stderr).toBe(0)
    expect(`${stdout}${stderr}`).not.toContain(value)
  }
  expect(`${told[1]?.stdout}`).toContain(name)
  expect(`${(await holt(['secret', 'ls'])).stdout}`).not.toContain(name)
  const missing = await holt(['secret', 'set', name, '--host', 'api.example.com', '--from-env', 'E2E_VALUE'])
  expect(missing.code).not.toBe(0)
})
