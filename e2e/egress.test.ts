import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  Command,
  NetworkLogItem,
  Policy,
  type PolicyBodyInput,
  RuntimeNetwork,
  SuggestedPolicy,
  TestedNetwork,
} from '@holt/protocol'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { call, success, wireRequest } from './support/api.ts'
import { classes, describeClasses } from './support/classes.ts'
import { holt } from './support/cli.ts'
import {
  type Attempt,
  attempt,
  attemptAll,
  attemptsCommand,
  dnsCode,
  http,
  https,
  labels,
  resolver,
  rigAuthority,
  trustRig,
} from './support/egress-probe.ts'
import { service } from './support/facts.ts'
import { daemonPid, initOf } from './support/host.ts'
import { closeConnections, open } from './support/http.ts'
import { forgetArrivals, readArrivals, rig } from './support/rig/arrivals.ts'
import { spoken } from './support/rig/tcp-hosts.ts'
import { startService, stopService } from './support/service-process.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

const policiesPath = '/v1/agents/network-policy'

/** The errors of `connect` without a route. gVisor has one of its own. */
const noRoute = /^E(NET|HOST)UNREACH$/

const put = async (runtime: TestRuntime, network_policy: string | PolicyBodyInput | null) =>
  success(await runtime.call('PUT', '/network', { json: { network_policy } }), 200, RuntimeNetwork)

/** Asserts that nothing at all has arrived. */
async function expectNothing(): Promise<void> {
  expect(await readArrivals()).toEqual({ queries: [], connections: [], requests: [], datagrams: [] })
}

async function logOf(runtime: TestRuntime, query: Record<string, string | number> = {}): Promise<NetworkLogItem[]> {
  const { text } = await runtime.call('GET', '/network/log', { query })
  return text
    .trim()
    .split('\n')
    .map((line) => NetworkLogItem.parse(JSON.parse(line)))
}

/** Starts connections inside that are held open until `release`. Answers when they are open. */
async function holdOpen(runtime: TestRuntime, connections: readonly (readonly [string, number, string | null])[]) {
  const id = crypto.randomUUID()
  const [ready, stop] = [`/tmp/${id}.ready`, `/tmp/${id}.stop`]
  const argv = attemptsCommand([{ kind: 'hold', connections, ready, stop }])
  success(await runtime.call('POST', '/commands', { json: { argv, background: true, user: 'root' } }), 201, Command)
  const ends = async (): Promise<string[] | null> => {
    const { exit_code, stdout } = await runtime.run(['cat', ready])
    return exit_code === 0 ? (JSON.parse(stdout) as string[]) : null
  }
  await until('they are open', async () => (await ends())?.every((end) => end === 'held'), 60_000)
  return { ends: async () => (await ends()) ?? [], release: () => runtime.sh(`touch ${stop}`) }
}

describeClasses('a runtime without a policy', (isolation) => {
  let runtime: TestRuntime
  beforeAll(async () => {
    runtime = await createRuntime({ isolation })
    await trustRig(runtime)
    await forgetArrivals()
  })
  afterAll(() => runtime?.delete())

  it('has no device, no route and no resolver, and receives nothing', async () => {
    expect(await runtime.sh('grep -c tun /proc/net/dev || true')).toBe('0')
    expect(await runtime.sh('ip -4 route show default; ip -6 route show default')).toBe('')
    const outcomes = await attemptAll(runtime, [
      https('api.example.com'),
      { kind: 'connect', host: rig.listedAddress, port: 443 },
      { kind: 'datagram', host: rig.listedAddress, port: 9999 },
      { kind: 'dns', server: resolver, name: labels('api.example.com'), type: 'A' },
      { kind: 'dns', server: resolver, name: labels('api.example.com'), type: 'A', over: 'tcp' },
      { kind: 'connect', host: rig.hostAddress, port: service.port },
      { kind: 'connect', host: '198.18.1.0', port: 443 },
    ])
    expect(outcomes[0]?.end).toBe('no name')
    for (const { end } of outcomes.slice(1)) expect(end).toMatch(noRoute)
    await expectNothing()
  })

  it('has loopback', async () => {
    const script = 'python -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & echo $! > /tmp/server'
    await runtime.sh(script)
    await until('it listens', async () => (await runtime.run('curl -sf localhost:8123 >/dev/null')).exit_code === 0)
    await runtime.sh('kill $(cat /tmp/server)')
  })

  it('gets a network with a policy, and loses it again', async () => {
    await put(runtime, { allow: [{ host: 'api.example.com' }] })
    expect(await attempt(runtime, https('api.example.com', '/given'))).toMatchObject({
      end: 'end',
      issuer: rigAuthority,
    })
    expect((await readArrivals()).requests).toMatchObject([{ sni: 'api.example.com', path: '/given' }])
    const held = await holdOpen(runtime, [['api.example.com', 443, 'api.example.com']])
    await put(runtime, null)
    await until('it is cut', async () => !(await held.ends()).includes('held'))
    await held.release()
    expect(await runtime.sh('grep -c tun /proc/net/dev || true')).toBe('0')
    await forgetArrivals()
    const outcomes = await attemptAll(runtime, [
      https('api.example.com'),
      { kind: 'connect', host: '198.18.1.0', port: 443 },
      { kind: 'connect', host: rig.listedAddress, port: 443 },
    ])
    expect(outcomes[0]?.end).toBe('no name')
    for (const { end } of outcomes.slice(1)) expect(end).toMatch(noRoute)
    await expectNothing()
  })
})

describeClasses('a runtime with a policy', (isolation) => {
  const name = `egress-${isolation}`
  const stored = {
    allow: [
      { host: 'api.example.com' },
      { host: '*.wild.example.com' },
      { host: 'db.example.com', ports: [5432, 5433] },
      { host: 'plain.example.com', ports: [80] },
      { host: 'other.example.com', methods: ['GET'], paths: ['/ok*'] },
      { host: `${rig.listedAddress}/32`, ports: [5432] },
    ],
    include: ['pypi'],
  } satisfies PolicyBodyInput
  let runtime: TestRuntime
  beforeAll(async () => {
    success(await call('POST', policiesPath, { json: { name, ...stored } }), 201, Policy)
    runtime = await createRuntime({ isolation, network_policy: name })
    await trustRig(runtime)
  })
  afterAll(async () => {
    await runtime?.delete()
    await call('DELETE', `${policiesPath}/${name}`)
  })
  beforeEach(forgetArrivals)

  it('reaches the hosts of the policy, by exact name, below a name, and in a preset', async () => {
    const names = ['api.example.com', 'sub.wild.example.com', 'deep.sub.wild.example.com', 'pypi.org']
    const outcomes = await attemptAll(
      runtime,
      names.map((host) => https(host, `/of/${host}`)),
    )
    for (const outcome of outcomes) expect(outcome).toMatchObject({ end: 'end', issuer: rigAuthority })
    const { requests } = await readArrivals()
    expect(requests.map(({ sni, path }) => [sni, path])).toEqual(names.map((host) => [host, `/of/${host}`]))
  })

  it('resolves names only at the gateway: one synthetic address, and no other record', async () => {
    const ask = (type: 'A' | 'AAAA' | 'HTTPS' | 'TXT' | 'MX', over?: 'tcp'): Attempt => {
      return { kind: 'dns', server: resolver, name: labels('api.example.com'), type, ...(over ? { over } : {}) }
    }
    const asked = [ask('A'), ask('A', 'tcp'), ask('AAAA'), ask('HTTPS'), ask('TXT'), ask('MX')]
    const [a, overTcp, ...others] = await attemptAll(runtime, asked)
    expect(a?.records).toEqual([[1, expect.stringMatching(/^198\.1[89]\./)]])
    expect(overTcp?.records).toEqual(a?.records)
    for (const other of others) expect(other).toMatchObject({ code: dnsCode.ok, records: [] })
    const address = a?.records?.[0]?.[1] ?? ''
    const reversed = [...address.split('.').reverse(), 'in-addr', 'arpa']
    const [pointer] = await attemptAll(runtime, [{ kind: 'dns', server: resolver, name: reversed, type: 'PTR' }])
    expect(pointer?.records?.[0]?.[0]).toBe(12)
    for (const query of (await readArrivals()).queries) expect(query).toMatch(/^(tcp )?(A|AAAA) api\.example\.com$/)
  })

  it('has requests checked by methods and paths, with a trusted certificate', async () => {
    const requests = [
      ['GET', '/ok', {}],
      ['GET', '/ok/further', {}],
      ['POST', '/ok', {}],
      ['GET', '/secret', {}],
      ['GET', '/ok/../secret', {}],
    ] as const
    const outcomes = await attemptAll(
      runtime,
      requests.map(
        (one): Attempt => ({ kind: 'requests', host: 'other.example.com', port: 443, tls: true, requests: [one] }),
      ),
    )
    expect(outcomes.map(({ answers }) => answers?.[0]?.[0])).toEqual([200, 200, 403, 403, 403])
    const [own] = await attemptAll(runtime, [https('other.example.com', '/ok')])
    expect(own?.issuer).toMatch(/^Holt /)
    const { stdout } = await runtime.run(
      'curl -sS -o /dev/null -w "%{http_code} %{http_version}" https://other.example.com/ok',
    )
    expect(stdout).toBe('200 2')
    const arrived = (await readArrivals()).requests
    expect(arrived.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /ok',
      'GET /ok/further',
      'GET /ok',
      'GET /ok',
    ])
  })

  it('carries raw TCP with half-closes, by name and by address', async () => {
    const data = 'holt'.repeat(20_000)
    const outcomes = await attemptAll(runtime, [
      { kind: 'connect', host: 'db.example.com', port: 5432, send: data, half_close: true },
      { kind: 'connect', host: 'db.example.com', port: 5433 },
      { kind: 'connect', host: rig.listedAddress, port: 5432, send: 'by address', half_close: true },
    ])
    expect(outcomes.map(({ end }) => end)).toEqual(['end', 'end', 'end'])
    expect(outcomes[0]?.received).toBe(data)
    expect(outcomes[1]?.received).toBe(spoken)
    expect(outcomes[2]?.received).toBe('by address')
  })

  it('has the Host of each plain request checked, also on one connection', async () => {
    const right = ['GET', '/1', {}] as const
    const [kept, changed] = await attemptAll(runtime, [
      { kind: 'requests', host: 'plain.example.com', port: 80, requests: [right, ['GET', '/2', {}]] },
      {
        kind: 'requests',
        host: 'plain.example.com',
        port: 80,
        requests: [
          ['GET', '/3', {}],
          ['GET', '/4', { Host: 'api.example.com' }],
        ],
      },
    ])
    expect(kept?.answers?.map(([status]) => status)).toEqual([200, 200])
    expect(changed?.answers?.map(([status]) => status)).toEqual([200, 403])
    expect((await readArrivals()).requests.map(({ path }) => path)).toEqual(['/1', '/2', '/3'])
  })

  it('is refused a denied name at once, without a query', async () => {
    const names = ['wild.example.com', 'notwild.example.com', 'example.com', 'x.api.example.com', 'denied.example.org']
    const outcomes = await attemptAll(runtime, [
      ...names.map((name): Attempt => ({ kind: 'dns', server: resolver, name: labels(name), type: 'A' })),
      ...names.map((name) => https(name)),
    ])
    for (const outcome of outcomes.slice(0, names.length))
      expect(outcome).toMatchObject({ code: dnsCode.refused, extended: 15, records: [] })
    for (const outcome of outcomes.slice(names.length)) expect(outcome.end).toBe('no name')
    await expectNothing()
  })

  it('is refused other ports and addresses at once', async () => {
    const outcomes = await attemptAll(runtime, [
      { kind: 'connect', host: 'api.example.com', port: 80 },
      { kind: 'connect', host: 'api.example.com', port: 22 },
      { kind: 'connect', host: 'db.example.com', port: 443 },
      { kind: 'connect', host: rig.listedAddress, port: 443 },
      { kind: 'connect', host: rig.listedAddress, port: 4444 },
      { kind: 'connect', host: rig.unlistedAddress, port: 5432 },
      { kind: 'connect', host: '203.0.113.7', port: 443 },
      { kind: 'connect', host: rig.hostAddress, port: service.port },
    ])
    for (const { end } of outcomes) expect(end).toBe('ECONNREFUSED')
    const { connections, requests } = await readArrivals()
    expect({ connections, requests }).toEqual({ connections: [], requests: [] })
  })

  it('is refused UDP, ICMP and IPv6', async () => {
    const udp = await attemptAll(
      runtime,
      [443, 9999, 5353].flatMap((port): Attempt[] => [
        { kind: 'datagram', host: rig.listedAddress, port },
        { kind: 'datagram', host: 'api.example.com', port },
      ]),
    )
    for (const { end } of udp) expect(end).toBe('ECONNREFUSED')
    const [v6, mapped, ping] = await attemptAll(runtime, [
      { kind: 'connect6', host: '2606:4700::1111', port: 443 },
      { kind: 'connect6', host: `::ffff:${rig.listedAddress}`, port: 443 },
      { kind: 'ping', host: rig.listedAddress },
    ])
    expect(v6?.end).toMatch(/^(E(NET|HOST)UNREACH|EADDRNOTAVAIL|EAFNOSUPPORT)$/)
    expect(mapped?.end).toMatch(/^(ECONNREFUSED|E(NET|HOST)UNREACH|EAFNOSUPPORT)$/)
    expect(ping?.end).toMatch(/^(unreachable|EPERM|EHOSTUNREACH)$/)
    const { connections, datagrams } = await readArrivals()
    expect({ connections, datagrams }).toEqual({ connections: [], datagrams: [] })
  })

  it('explains its decisions: the log, a test, a suggestion', async () => {
    const before = (await logOf(runtime)).at(-1)?.cursor ?? 0
    await attemptAll(runtime, [
      https('api.example.com', '/logged'),
      https('wanted.example.com'),
      { kind: 'connect', host: 'api.example.com', port: 22 },
      https('other.example.com', '/secret'),
    ])
    const items = await until('all of it is in the log', async () => {
      const found = (await logOf(runtime, { cursor: before })).filter((item) => 'rule' in item)
      return found.filter(({ type }) => type === 'close').length >= 2 ? found : null
    })
    const find = (wanted: Partial<(typeof items)[number]>) =>
      expect(items).toContainEqual(expect.objectContaining(wanted))
    find({ type: 'dns', name: 'api.example.com', allowed: true, rule: 'api.example.com:443' })
    find({ type: 'connect', name: 'api.example.com', port: 443, allowed: true, address: rig.listedAddress })
    find({ type: 'dns', name: 'wanted.example.com', allowed: false, rule: 'no_rule' })
    find({ type: 'connect', name: 'api.example.com', port: 22, allowed: false, rule: 'no_rule' })
    find({
      type: 'request',
      name: 'other.example.com',
      method: 'GET',
      path: '/secret',
      allowed: false,
      rule: 'request_denied',
    })
    const close = items.find(({ type, name: of }) => type === 'close' && of === 'api.example.com')
    expect(close?.bytes_sent).toBeGreaterThan(100)
    expect(close?.bytes_received).toBeGreaterThan(100)
    expect(items.find(({ type }) => type === 'connect')?.process?.name).toMatch(/^python/)
    const denied = (await logOf(runtime, { cursor: before, denied: 'true' })).filter((item) => 'rule' in item)
    expect(denied).toEqual(items.filter(({ allowed }) => !allowed))

    const test = async (json: object) =>
      success(await runtime.call('POST', '/network/test', { json }), 200, TestedNetwork)
    expect(await test({ host: 'api.example.com' })).toMatchObject({
      allowed: true,
      rule: 'api.example.com:443',
      inspection: 'sni',
      addresses: [rig.listedAddress],
    })
    expect(await test({ host: 'wild.example.com' })).toMatchObject({ allowed: false, rule: 'no_rule' })
    expect(await test({ host: 'other.example.com', method: 'POST', path: '/ok' })).toMatchObject({ allowed: false })
    const suggested = success(await runtime.call('GET', '/network/suggest'), 200, SuggestedPolicy)
    expect(suggested.add).toContainEqual({ host: 'wanted.example.com', ports: [443] })
    expect(suggested.add).toContainEqual({ host: 'api.example.com', ports: expect.arrayContaining([22]) })
  })

  it('explains them on the command line', async () => {
    const of = async (...args: string[]) => {
      const { code, stdout, stderr } = await holt(['net', ...args])
      return { code, out: stdout.toString(), stderr }
    }
    await attempt(runtime, https('wanted.example.com'))
    expect((await of('log', runtime.id, '--denied')).out).toMatch(/DENY {2}dns {5}wanted\.example\.com {2}no_rule/)
    expect(await of('test', runtime.id, 'api.example.com')).toMatchObject({
      code: 0,
      out: 'allowed: api.example.com:443\n',
    })
    expect(await of('test', runtime.id, 'wanted.example.com')).toMatchObject({ code: 1, out: 'denied: no_rule\n' })
    const suggested = (await of('suggest', runtime.id)).out.split('\n')
    expect(suggested).toContain('--allow wanted.example.com')
    expect(suggested.some((line) => line.startsWith('--allow api.example.com:'))).toBe(true)
  })

  it('follows the log', async () => {
    const before = (await logOf(runtime)).at(-1)?.cursor ?? 0
    const following = await open(
      service.url,
      wireRequest('GET', `${runtime.path}/network/log`, { query: { cursor: before, follow: 'true' } }),
    )
    try {
      const asked = attempt(runtime, https('followed.example.com'))
      for await (const line of createInterface({ input: following })) {
        const item = NetworkLogItem.parse(JSON.parse(line))
        expect(item.cursor).toBeGreaterThan(before)
        if ('name' in item && item.name === 'followed.example.com') break
      }
      await asked
    } finally {
      following.destroy()
    }
  })

  it('loses denied connections when its stored policy changes, and keeps allowed ones', async () => {
    const changed = { ...stored, allow: [...stored.allow, { host: 'cut.example.com' }] }
    const replace = async (json: PolicyBodyInput) =>
      success(await call('PUT', `${policiesPath}/${name}`, { json }), 200, Policy)
    await replace(changed)
    const held = await holdOpen(runtime, [
      ['cut.example.com', 443, 'cut.example.com'],
      ['api.example.com', 443, 'api.example.com'],
      ['db.example.com', 5432, null],
    ])
    await replace(stored)
    await until('it is cut', async () => (await held.ends())[0] === 'ECONNRESET')
    expect(await held.ends()).toEqual(['ECONNRESET', 'held', 'held'])
    const { code } = await holt(['net', 'set', runtime.id, '--allow', 'db.example.com:5432'])
    expect(code).toBe(0)
    await until('it is cut', async () => (await held.ends())[1] === 'ECONNRESET')
    expect(await held.ends()).toEqual(['ECONNRESET', 'ECONNRESET', 'held'])
    await held.release()
    await forgetArrivals()
    expect((await attempt(runtime, https('api.example.com'))).end).toBe('no name')
    await expectNothing()
    await put(runtime, name)
    expect((await attempt(runtime, https('api.example.com'))).end).toBe('end')
  })
})

describeClasses('a policy for every port', (isolation) => {
  it('reaches each port, but no network that it denies', async () => {
    const listed = `${rig.listedAddress}/32`
    const allow = [
      { host: 'db.example.com', all_ports: true },
      { host: listed, all_ports: true },
    ]
    await using runtime = await createRuntime({ isolation, network_policy: { allow } })
    const attempts: Attempt[] = [
      { kind: 'connect', host: 'db.example.com', port: 5433 },
      { kind: 'connect', host: rig.listedAddress, port: 5433 },
    ]
    for (const { received } of await attemptAll(runtime, attempts)) expect(received).toBe(spoken)
    expect((await attempt(runtime, { kind: 'connect', host: rig.unlistedAddress, port: 5433 })).end).toBe(
      'ECONNREFUSED',
    )
    const held = await holdOpen(runtime, [
      ['db.example.com', 5432, null],
      [rig.listedAddress, 5432, null],
    ])
    await put(runtime, { allow, deny: ['203.0.113.0/24'] })
    expect(await held.ends()).toEqual(['held', 'held'])
    await put(runtime, { allow, deny: [listed] })
    await until('both are cut', async () => (await held.ends()).every((end) => end === 'ECONNRESET'))
    await held.release()
    await forgetArrivals()
    for (const { end } of await attemptAll(runtime, attempts)) expect(end).toBe('ECONNREFUSED')
    expect((await readArrivals()).connections).toEqual([])
    const denied = (await logOf(runtime)).filter((item) => 'rule' in item && item.rule === 'denied_network')
    expect(denied).toHaveLength(2)
  })
})

describe('holt run --allow', () => {
  const available = classes.filter((isolation) => service.unavailable[isolation] === null)
  it.each(available)('allows that host and no other [%s]', async (isolation) => {
    await forgetArrivals()
    const script = 'curl -sS --max-time 60 http://plain.example.com/run; curl -s https://api.example.com || echo " $?"'
    const options = ['--isolation', isolation, '--allow', 'plain.example.com:80']
    const { code, stdout, stderr } = await holt(['run', ...options, '--', 'sh', '-c', script])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.toString()).toMatch(/^\{"host":"plain\.example\.com".* 6\n$/s)
    const { requests, queries } = await readArrivals()
    expect(requests.map(({ path }) => path)).toEqual(['/run'])
    expect(queries.every((query) => query.endsWith(' plain.example.com'))).toBe(true)
  })
})

describe('while the service is stopped', () => {
  interface Knocking {
    readonly runtime: TestRuntime
    readonly path: string
  }
  const available = classes.filter((isolation) => service.unavailable[isolation] === null)
  const knocking: Knocking[] = []
  beforeAll(async () => {
    for (const isolation of available) {
      const runtime = await createRuntime({
        isolation,
        network_policy: { allow: [{ host: 'plain.example.com', ports: [80] }] },
      })
      knocking.push({ runtime, path: `/${isolation}/` })
      const host = await runtime.sh("getent ahostsv4 plain.example.com | head -1 | cut -d' ' -f1")
      const argv = attemptsCommand([
        {
          kind: 'knock',
          host,
          port: 80,
          name: 'plain.example.com',
          path: `/${isolation}/`,
          log: '/tmp/log',
          stop: '/tmp/stop',
        },
      ])
      success(await runtime.call('POST', '/commands', { json: { argv, background: true, user: 'root' } }), 201, Command)
    }
  })
  afterAll(async () => {
    for (const { runtime } of knocking) await runtime.delete()
  })

  /** Returns the attempts so far, with their results. */
  const knocks = async ({ runtime, path }: Knocking) =>
    (await runtime.sh('cat /tmp/log 2>/dev/null || true'))
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split(' '))
      .map(([number, begin, end, outcome]) => ({
        path: path + number,
        begin: Number(begin) * 1000,
        end: Number(end) * 1000,
        outcome,
      }))

  const works = () =>
    until(
      'it works in all',
      async () => {
        const last = await Promise.all(knocking.map(async (one) => (await knocks(one)).at(-1)))
        return last.every((knock) => knock?.outcome === '200')
      },
      90_000,
    )

  /**
   * Has the service away for a while, until each has knocked wholly within, and asserts that nobody
   * has heard of those knocks.
   */
  async function whileAway(leave: () => Promise<void>, comeBack: () => Promise<void>): Promise<void> {
    for (let round = 1; ; round++) {
      await works()
      await leave()
      const begin = Date.now()
      // Time passes on purpose: what is to be seen is that nothing happens in it.
      await sleep(4000)
      const end = Date.now()
      await comeBack()
      await works()
      const arrived = (await readArrivals()).requests.map(({ path }) => path)
      const within = await Promise.all(
        knocking.map(async (one) => (await knocks(one)).filter((knock) => knock.begin > begin && knock.end < end)),
      )
      for (const { path, outcome } of within.flat()) {
        expect(outcome).not.toBe('200')
        expect(arrived).not.toContain(path)
      }
      if (within.every((list) => list.length > 0)) return
      if (round === 5) throw new Error('nobody has knocked while the service was away')
    }
  }

  it('stopped runtimes send nothing, and continue with the service', async () => {
    const pid = daemonPid()
    const signal = async (name: 'SIGSTOP' | 'SIGCONT') => void process.kill(pid, name)
    try {
      await whileAway(
        () => signal('SIGSTOP'),
        () => signal('SIGCONT'),
      )
    } finally {
      await signal('SIGCONT')
    }
  }, 180_000)

  it('nothing gets out after a kill of the service, and the next one continues without restarts inside', async () => {
    const inits = knocking.map(({ runtime }) => initOf(runtime.id))
    const kill = async () => {
      await stopService('SIGKILL')
      closeConnections()
    }
    const start = async () => {
      await startService(service.port)
      await until(
        'it is ready again',
        async () => (await call('GET', '/readyz', { key: null, timeoutMs: 5_000 }).catch(() => null))?.status === 200,
        60_000,
      )
    }
    await whileAway(kill, start)
    expect(knocking.map(({ runtime }) => initOf(runtime.id))).toEqual(inits)
    for (const { runtime } of knocking) {
      await runtime.sh('touch /tmp/stop')
      const outcomes = await attemptAll(runtime, [http('plain.example.com', '/after')])
      expect(outcomes[0]?.received).toMatch(/^HTTP\/1\.1 200 /)
    }
  }, 240_000)
})
