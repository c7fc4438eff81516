import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { type PolicyBodyInput, RuntimeNetwork } from '@holt/protocol'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { z } from 'zod'
import { success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import {
  type Attempt,
  attempt,
  attemptAll,
  dnsCode,
  https,
  labels,
  resolver,
  trustRig,
} from './support/egress-probe.ts'
import { service } from './support/facts.ts'
import { forgetArrivals, readArrivals, rig } from './support/rig/arrivals.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'

const socketProgram = readFileSync(new URL('probe/egress-socket.mjs', import.meta.url), 'utf8')

const policy = {
  allow: [
    { host: 'api.example.com' },
    { host: 'plain.example.com', ports: [80] },
    { host: 'other.example.com', methods: ['GET'] },
    { host: 'db.example.com', ports: [5432] },
  ],
} satisfies PolicyBodyInput

const SocketOutcomes = z.array(
  z.object({
    status: z.number().nullable(),
    reason: z.string().nullable(),
    received: z.string(),
    end: z.string().nullable(),
  }),
)

interface SocketRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly send?: string
}

/** Makes requests at the egress socket itself, past the guest. */
async function askSocket(runtime: TestRuntime, requests: readonly SocketRequest[]) {
  const argv = ['node', '--input-type=module', '-e', socketProgram, JSON.stringify(requests)]
  const { exit_code, stdout, stderr } = await runtime.run(argv, { user: 'root', timeout_secs: 120 })
  expect(exit_code, stderr).toBe(0)
  return SocketOutcomes.parse(JSON.parse(stdout))
}

const toConnect = (authority: string): SocketRequest => ({ headers: { ':method': 'CONNECT', ':authority': authority } })

const put = async (runtime: TestRuntime, network_policy: PolicyBodyInput) =>
  success(await runtime.call('PUT', '/network', { json: { network_policy } }), 200, RuntimeNetwork)

const query = (
  name: readonly string[],
  type: 'A' | 'AAAA' | 'TXT' | 'HTTPS' | 'ANY' = 'A',
  server = resolver,
): Attempt => {
  return { kind: 'dns', server, name, type }
}

async function addressOf(runtime: TestRuntime, name: string): Promise<string> {
  const { records } = await attempt(runtime, query(labels(name)))
  const address = records?.[0]?.[1] ?? ''
  expect(address).toMatch(/^198\.1[89]\./)
  return address
}

async function expectNoQueries(): Promise<void> {
  expect((await readArrivals()).queries).toEqual([])
}

/** Listens on an address of this machine and counts who comes. */
async function listenHere(host: string): Promise<{ server: Server; port: number; visits: () => number }> {
  let visits = 0
  const server = createServer((socket) => {
    visits += 1
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return { server, port: (server.address() as { port: number }).port, visits: () => visits }
}

describeClasses('a way around the policy', (isolation) => {
  let runtime: TestRuntime
  beforeAll(async () => {
    runtime = await createRuntime({ isolation, network_policy: policy })
    await trustRig(runtime)
  })
  afterAll(() => runtime?.delete())
  beforeEach(forgetArrivals)

  it('is not another or a missing server name', async () => {
    const request = 'GET /smuggled HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n'
    const names = ['other.example.com', 'denied.example.org', 'x.api.example.com', 'pi.example.com', null]
    const outcomes = await attemptAll(runtime, [
      ...['api.example.com', 'other.example.com'].flatMap((host) =>
        names
          .filter((name) => name !== host)
          .map((server_name): Attempt => {
            return { kind: 'connect', host, port: 443, server_name, trusts_all: true, send: request }
          }),
      ),
      { kind: 'connect', host: 'api.example.com', port: 443, send: request },
      { kind: 'connect', host: 'api.example.com', port: 443, send: 'SSH-2.0-OpenSSH_9.6\r\n', half_close: true },
    ])
    for (const { end, received } of outcomes) {
      expect(end).toMatch(/^(ECONNRESET|tls|end)$/)
      expect(received).toBe('')
    }
    expect((await readArrivals()).requests).toEqual([])
  })

  it('is not another Host inside TLS that is read', async () => {
    const fronted = await attempt(runtime, {
      kind: 'requests',
      host: 'other.example.com',
      port: 443,
      tls: true,
      requests: [['GET', '/smuggled', { Host: 'api.example.com' }]],
    })
    expect(fronted.answers?.[0]?.[0] ?? 0).not.toBe(200)
    expect((await readArrivals()).requests).toEqual([])
  })

  it('is not an unusual form of a plain request', async () => {
    const right = 'Host: plain.example.com\r\n'
    const get = (target: string, fields: string) => `GET ${target} HTTP/1.1\r\n${fields}\r\n`
    const hidden = get('/smuggled', 'Host: api.example.com\r\n')
    const shapes = [
      get('/smuggled', 'Host: api.example.com\r\n'),
      get('/smuggled', ''),
      get('/smuggled', `${right}Host: api.example.com\r\n`),
      get('/smuggled', `Host: api.example.com\r\n${right}`),
      get('/smuggled', 'Host: plain.example.com, api.example.com\r\n'),
      get('/smuggled', 'Host: plain.example.com@api.example.com\r\n'),
      get('/smuggled', 'Host: plain.example.com:443\r\n'),
      get('/smuggled', 'Host: plain.example.com\0.api.example.com\r\n'),
      get('/smuggled', 'Host: plain.example.com#api.example.com\r\n'),
      get('/smuggled', 'Host : plain.example.com\r\n'),
      get('/smuggled', 'Host:\r\n plain.example.com\r\n'),
      get('/smuggled', ` ${right}`),
      get('/smuggled', `X: y\rHost: api.example.com\r\n${right}`),
      get('/smuggled', `X: y\nHost: api.example.com\r\n${right}`),
      get('http://api.example.com/smuggled', right),
      get('http://api.example.com/smuggled', 'Host: api.example.com\r\n'),
      get('http://plain.example.com@api.example.com/smuggled', right),
      get('https://plain.example.com/smuggled', right),
      get('//api.example.com/smuggled', right).replace('smuggled', 'smuggled ').replace(' HTTP', '\tHTTP'),
      `CONNECT api.example.com:443 HTTP/1.1\r\n${right}\r\n`,
      `GET /smuggled\r\n${right}\r\n`,
      get('/smuggled', right).replace('HTTP/1.1', 'HTTP/2.0'),
      get('/smuggled', right).replaceAll('\r\n', '\n'),
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      `POST /smuggled HTTP/1.1\r\n${right}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
      `POST /smuggled HTTP/1.1\r\n${right}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`,
      `POST /smuggled HTTP/1.1\r\n${right}Content-Length: +5\r\n\r\nhello`,
      `POST /smuggled HTTP/1.1\r\n${right}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${hidden}`,
      `POST /smuggled HTTP/1.1\r\n${right}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${hidden}`,
      `POST /smuggled HTTP/1.1\r\n${right}Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n${hidden}`,
      `POST /smuggled HTTP/1.0\r\n${right}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
      `POST /fine HTTP/1.1\r\n${right}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
      `POST /fine HTTP/1.1\r\n${right}Content-Length: 2\r\n\r\nhi${hidden}`,
      `GET /fine HTTP/1.1\r\n${right}\r\n${hidden}`,
      `GET /fine HTTP/1.1\r\n${right}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n${hidden}`,
      `GET /fine HTTP/1.1\r\n${right}Connection: close\r\n\r\n${hidden}`,
    ]
    const outcomes = await attemptAll(
      runtime,
      shapes.map((send): Attempt => ({ kind: 'connect', host: 'plain.example.com', port: 80, send, half_close: true })),
    )
    expect(outcomes.map(({ end }) => end).filter((end) => end === 'nothing')).toEqual([])
    const { requests } = await readArrivals()
    for (const { path, method, rawHeaders } of requests) {
      expect(`${method} ${path}`).toMatch(/^(GET|POST) \/fine$/)
      const hosts = rawHeaders.filter((_, index) => rawHeaders[index - 1]?.toLowerCase() === 'host' && index % 2 === 1)
      expect(hosts).toEqual(['plain.example.com'])
    }
    expect(requests.length).toBeGreaterThan(0)
  })

  it('is not an odd name, and a DNS query reveals nothing', async () => {
    const secret = 'c2VjcmV0LXRoYXQtbXVzdC1ub3QtZ2V0LW91dC1ieS1hLW5hbWU'
    const odd = [
      ['api\0', 'example', 'com'],
      ['api', 'example', 'com\0', 'evil', 'org'],
      ['api.example.com\0', 'evil', 'org'],
      ['evil.org\0.api', 'example', 'com'],
      ['api.example', 'com'],
      ['api.example.com'],
      ['api\\', 'example', 'com'],
      ['api ', 'example', 'com'],
      ['api', 'example', 'com', 'evil', 'org'],
      ['\xe1pi', 'example', 'com'],
      ['api', 'example'],
      ['com'],
      [],
      [secret, 'api', 'example', 'com'],
      [secret, 'denied', 'example', 'org'],
      ['-', 'api', 'example', 'com'],
    ]
    const types = ['TXT', 'AAAA', 'HTTPS', 'ANY'] as const
    const denied = [
      ...odd.map((name) => query(name)),
      ...types.map((type) => query([secret, 'evil', 'org'], type)),
      ...types.map((type) => query([secret, 'api', 'example', 'com'], type)),
    ]
    for (const outcome of await attemptAll(runtime, denied)) {
      expect(outcome.records).toEqual([])
      expect([dnsCode.refused, dnsCode.malformed]).toContain(outcome.code)
    }
    await expectNoQueries()
    // Capitals are the same name (RFC 4343), and what is asked upstream is the one form of it.
    const [capital] = await attemptAll(runtime, [query(['DB', 'Example', 'COM'])])
    expect(capital?.records).toHaveLength(1)
    for (const asked of (await readArrivals()).queries) expect(asked).toMatch(/ db\.example\.com$/)
  })

  it('is not another DNS server', async () => {
    const [host = '', port = ''] = rig.resolver.split(':')
    const outcomes = await attemptAll(runtime, [
      query(labels('denied.example.org'), 'A', '8.8.8.8'),
      query(labels('denied.example.org'), 'TXT', rig.listedAddress),
      query(labels('api.example.com'), 'TXT', '8.8.8.8'),
      { ...query(labels('denied.example.org'), 'A', '1.1.1.1'), over: 'tcp' } as Attempt,
      { ...query(labels('denied.example.org'), 'A', host), port: Number(port) } as Attempt,
      { ...query(labels('denied.example.org'), 'A', host), port: Number(port), over: 'tcp' } as Attempt,
      { kind: 'connect', host: '1.1.1.1', port: 853 },
      { kind: 'connect', host: '8.8.8.8', port: 443 },
    ])
    expect(outcomes.slice(0, 4).map(({ code }) => code)).toEqual([
      dnsCode.refused,
      dnsCode.refused,
      dnsCode.ok,
      dnsCode.refused,
    ])
    for (const { records } of outcomes.slice(0, 4)) expect(records).toEqual([])
    for (const { end } of outcomes.slice(4)) expect(end).toBe('ECONNREFUSED')
    expect(await readArrivals()).toEqual({ queries: [], connections: [], requests: [], datagrams: [] })
  })

  it('is not a name with a non-public address, even if every host is allowed', async () => {
    const loopback = await listenHere('127.0.0.1')
    const own = await listenHere(rig.hostAddress)
    const ports = [443, 80, service.port, loopback.port, own.port]
    try {
      await put(runtime, {
        allow: [
          { host: '*', ports },
          { host: '0.0.0.0/0', ports },
          { host: '::/0', ports },
        ],
        allow_all_hosts: true,
      })
      const names = [
        'unlisted',
        'metadata',
        'loopback',
        'mapped',
        'private',
        'alias',
        'unspecified',
        'synthetic',
        'gateway',
      ]
      const addresses = [rig.unlistedAddress, '169.254.169.254', '10.0.0.1', '100.100.100.200', rig.hostAddress]
      const targets = [...names.map((name) => `${name}.example.com`), ...addresses]
      const outcomes = await attemptAll(
        runtime,
        targets.flatMap((host) =>
          [443, service.port, host === rig.hostAddress || host.startsWith('gateway') ? own.port : loopback.port].map(
            (port): Attempt => ({ kind: 'connect', host, port, send: 'GET / HTTP/1.0\r\n\r\n' }),
          ),
        ),
      )
      for (const { end } of outcomes) expect(end).toMatch(/^(ECONNREFUSED|no name)$/)
      const rebound = await attemptAll(
        runtime,
        Array.from({ length: 4 }, (): Attempt => {
          return { kind: 'connect', host: 'rebind.example.com', port: loopback.port, send: 'out' }
        }),
      )
      for (const { connected } of rebound) expect(connected).toBe(false)
      const direct = await askSocket(
        runtime,
        [
          `127.0.0.1:${loopback.port}`,
          `127.0.0.1:${service.port}`,
          `[::1]:${loopback.port}`,
          `[::ffff:127.0.0.1]:${loopback.port}`,
          `[::ffff:7f00:1]:${loopback.port}`,
          `[64:ff9b::7f00:1]:${loopback.port}`,
          `[2002:7f00:1::]:${loopback.port}`,
          `0.0.0.0:${loopback.port}`,
          `[::]:${loopback.port}`,
          `${rig.hostAddress}:${own.port}`,
          `${rig.unlistedAddress}:443`,
          '169.254.169.254:80',
          '[fd00:ec2::254]:80',
        ].map(toConnect),
      )
      for (const { status, reason } of direct) expect({ status, reason }).toEqual({ status: 403, reason: 'non_public' })
      expect([loopback.visits(), own.visits()]).toEqual([0, 0])
      expect((await readArrivals()).connections).toEqual([])
    } finally {
      loopback.server.close()
      own.server.close()
      await put(runtime, policy)
    }
  })

  it('is not an address of another runtime, an unused one, or one of an earlier policy', async () => {
    const address = await addressOf(runtime, 'api.example.com')
    await addressOf(runtime, 'plain.example.com')
    await using other = await createRuntime({
      isolation,
      network_policy: { allow: [{ host: 'deep.api.example.com' }] },
    })
    await trustRig(other)
    const tls = (host: string): Attempt => ({
      kind: 'connect',
      host,
      port: 443,
      server_name: 'api.example.com',
      trusts_all: true,
      send: 'GET /smuggled HTTP/1.1\r\nHost: api.example.com\r\n\r\n',
    })
    expect((await attempt(other, tls(address))).end).toBe('ECONNREFUSED')
    const theirs = await addressOf(other, 'deep.api.example.com')
    const [same, nobody, last] = await attemptAll(other, [tls(theirs), tls('198.18.200.1'), tls('198.19.255.255')])
    expect(same?.end).toMatch(/^(ECONNRESET|tls)$/)
    expect(nobody?.end).toBe('ECONNREFUSED')
    expect(last?.end).toBe('ECONNREFUSED')
    await put(runtime, { allow: [{ host: 'plain.example.com', ports: [80] }] })
    expect((await attempt(runtime, tls(address))).end).toBe('ECONNREFUSED')
    await put(runtime, policy)
    expect((await readArrivals()).requests).toEqual([])
    expect((await attempt(runtime, https('api.example.com', '/again'))).end).toBe('end')
  })

  it('is not the socket of the guest', async () => {
    const api = await addressOf(runtime, 'api.example.com')
    const plain = await addressOf(runtime, 'plain.example.com')
    const refused = await askSocket(
      runtime,
      [
        'api.example.com:443',
        `${api}:80`,
        `${api}:0443`,
        `${api}:443x`,
        `${api}:65536`,
        `${api}:-1`,
        `${api}`,
        `${rig.listedAddress}:443`,
        `${rig.listedAddress}:4444`,
        `user@${api}:443`,
        `${api}:443@${rig.listedAddress}:4444`,
        '127.0.0.1:80',
        '127.1:80',
        '2130706433:80',
        '0x7f.0.0.1:80',
        '0177.0.0.1:80',
        `127.0.0.1:${service.port}`,
        `${rig.hostAddress}:${service.port}`,
        '[::1]:80',
        '169.254.169.254:80',
        '198.18.0.1:53',
        '198.18.0.2:22',
      ].map(toConnect),
    )
    for (const { status, received, end } of refused) {
      // A text that is no authority breaks HTTP/2 itself: then the stream is reset.
      if (status === null) expect(end).toMatch(/^(reset \d+|ERR_HTTP2_\w+)$/)
      else expect([400, 403]).toContain(status)
      expect(received).toBe('')
    }
    expect((await readArrivals()).connections).toEqual([])
    const others = await askSocket(runtime, [
      { headers: { ':method': 'GET', ':path': '/', ':authority': 'api.example.com', ':scheme': 'https' } },
      { headers: { ':method': 'POST', ':path': '/v1/agents/runtime', ':authority': 'x', ':scheme': 'http' } },
      { headers: { ':method': 'POST', ':path': '/dns-query', ':authority': 'x', ':scheme': 'http' } },
    ])
    expect(others.map(({ status }) => status)).toEqual([404, 404, 415])
    const get = (host: string) => `GET /direct HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
    const [wrongHost, rightHost, noTls] = await askSocket(runtime, [
      { ...toConnect(`${plain}:80`), send: get('api.example.com') },
      { ...toConnect(`${plain}:80`), send: get('plain.example.com') },
      { ...toConnect(`${api}:443`), send: get('api.example.com') },
    ])
    expect(wrongHost?.received).toMatch(/^HTTP\/1\.1 403 /)
    expect(rightHost?.received).toMatch(/^HTTP\/1\.1 200 /)
    expect(noTls?.received).toBe('')
    const { requests } = await readArrivals()
    expect(requests.map(({ path, rawHeaders }) => [path, rawHeaders[1]])).toEqual([['/direct', 'plain.example.com']])
    // Nothing else of the host's listens in there.
    const sockets = (await runtime.sh('ls /run/holt')).split('\n').filter((name) => name !== '')
    for (const name of sockets) expect(['control.sock', 'egress.sock', 'tun.sock']).toContain(name)
  })
})
