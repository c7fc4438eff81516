import { createServer } from 'node:net'
import {
  NetworkLogItem,
  Policy,
  type PolicyBodyInput,
  RuntimeNetwork,
  SuggestedPolicy,
  TestedNetwork,
} from '@holt/protocol'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { call, success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

// These tests need no host. No packet leaves the machine, because no destination is allowed and
// public.

const allow = {
  allow: [{ host: 'allowed.example.com' }, { host: '127.0.0.0/8', ports: [1, 8080] }],
} satisfies PolicyBodyInput

const network = async (runtime: TestRuntime) => success(await runtime.call('GET', '/network'), 200, RuntimeNetwork)

async function logOf(runtime: TestRuntime): Promise<NetworkLogItem[]> {
  const { text } = await runtime.call('GET', '/network/log')
  return text
    .trim()
    .split('\n')
    .map((line) => NetworkLogItem.parse(JSON.parse(line)))
}

/**
 * Connects to an address and port with a program that knows nothing of proxies; answers the error's
 * name, or `connected`.
 */
const tryConnect = (runtime: TestRuntime, host: string, port: number) =>
  runtime.python<string>(
    `import errno, json, socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=20).close(); print(json.dumps("connected"))
except socket.gaierror: print(json.dumps("no name"))
except OSError as error: print(json.dumps(errno.errorcode.get(error.errno, str(error))))`,
    [host, String(port)],
  )

/** The errors of the two kernels without a route. */
const unreachable = ['ENETUNREACH', 'EHOSTUNREACH']

describeClasses('a runtime and its network', (isolation) => {
  let runtime: TestRuntime
  const name = `basics-${isolation}`
  beforeAll(async () => {
    const secret = { name, value: 'hunter22-hunter22', hosts: ['allowed.example.com'], env_name: 'API_KEY' }
    expect((await call('POST', '/v1/agents/secret', { json: secret })).status).toBe(201)
    success(await call('POST', '/v1/agents/network-policy', { json: { name, ...allow } }), 201, Policy)
    runtime = await createRuntime({ isolation, network_policy: name, secrets: [name] })
  })
  afterAll(async () => {
    await runtime?.delete()
    await call('DELETE', `/v1/agents/network-policy/${name}`)
    await call('DELETE', `/v1/agents/secret/${name}`)
  })

  it('reports its policy and secrets', async () => {
    expect(runtime.data).toMatchObject({
      network_policy: { type: 'stored', name },
      secrets: [name],
      secrets_inside: false,
      env: {},
    })
    const { policy, secrets } = await network(runtime)
    expect(policy?.inspection[0]).toMatchObject({
      host: 'allowed.example.com',
      inspection: 'terminated',
      secrets: [name],
    })
    expect(secrets).toMatchObject([{ name, env_name: 'API_KEY', available: true }])
  })

  it('has only a placeholder inside, and the value nowhere', async () => {
    const { stdout } = await runtime.run('echo $API_KEY')
    expect(stdout).toMatch(new RegExp(`^holt-placeholder-${name}-[a-z0-9]{24}\n$`))
    expect(await runtime.sh('cat /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n" | grep -c hunter22 || true')).toBe(
      '0',
    )
  })

  it('is refused denied names at once, and the log says so', async () => {
    expect(await tryConnect(runtime, 'denied.example.com', 443)).toBe('no name')
    await until('the decision is in the log', async () =>
      (await logOf(runtime)).some((item) => 'name' in item && item.name === 'denied.example.com'),
    )
    const denied = (await logOf(runtime)).find((item) => 'name' in item && item.name === 'denied.example.com')
    expect(denied).toMatchObject({ type: 'dns', allowed: false, rule: 'no_rule' })
  })

  it('is refused addresses without a rule, and non-public ones under any rule', async () => {
    expect(await tryConnect(runtime, '203.0.113.7', 443)).toBe('ECONNREFUSED')
    expect(await tryConnect(runtime, '169.254.169.254', 80)).toBe('ECONNREFUSED')
    const canary = createServer((socket) => socket.destroy())
    let reached = 0
    canary.on('connection', () => (reached += 1))
    await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = canary.address() as { port: number }
      const rule = { host: '127.0.0.0/8', ports: [port] }
      success(
        await runtime.call('PUT', '/network', { json: { network_policy: { allow: [rule] } } }),
        200,
        RuntimeNetwork,
      )
      const tested = await runtime.call('POST', '/network/test', { json: { host: '127.0.0.1', port } })
      expect(success(tested, 200, TestedNetwork)).toMatchObject({ allowed: false, rule: 'non_public' })
      expect(reached).toBe(0)
    } finally {
      canary.close()
      await runtime.call('PUT', '/network', { json: { network_policy: name } })
    }
  })

  it('suggests the missing rules', async () => {
    const { add, remarks } = success(await runtime.call('GET', '/network/suggest'), 200, SuggestedPolicy)
    expect(add).toEqual([{ host: 'denied.example.com', ports: [443] }])
    expect(remarks.map(({ host }) => host)).toEqual(expect.arrayContaining(['169.254.169.254', '203.0.113.7']))
  })

  it('loses its device with its policy, and gets it back with another', async () => {
    const devices = () => runtime.sh('cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d " " | sort | tr "\\n" " "')
    expect(await devices()).toContain('tun0')
    success(await runtime.call('PUT', '/network', { json: { network_policy: null } }), 200, RuntimeNetwork)
    expect(await devices()).not.toContain('tun0')
    expect(unreachable).toContain(await tryConnect(runtime, '203.0.113.7', 443))
    success(
      await runtime.call('PUT', '/network', { json: { network_policy: { include: ['npm'] } } }),
      200,
      RuntimeNetwork,
    )
    expect(await devices()).toContain('tun0')
    expect(await tryConnect(runtime, '203.0.113.7', 443)).toBe('ECONNREFUSED')
  })

  it('has none without a policy', async () => {
    await using plain = await createRuntime({ isolation })
    expect(plain.data).toMatchObject({ network_policy: null, secrets: [] })
    expect(await plain.sh('grep -c tun0 /proc/net/dev || true')).toBe('0')
    expect(unreachable).toContain(await tryConnect(plain, '203.0.113.7', 443))
    expect(await tryConnect(plain, 'allowed.example.com', 443)).toBe('no name')
  })
})
