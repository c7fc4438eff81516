import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PolicyBody, PolicyRule } from '@holt/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Holt } from '../../../sdk/src/index.ts'
import { startTestService, type TestService } from '../../../sdk/test/support/test-service.ts'
import { policyFields, ruleFields } from '../../src/arguments/policy-options.ts'
import { runHolt } from '../support/run-holt.ts'

let service: TestService
let holt: Holt
beforeEach(async () => {
  service = await startTestService()
  holt = new Holt({ url: service.url, apiKey: service.key })
})
afterEach(() => service.close())

const run = (args: readonly string[], how: { input?: string; env?: Record<string, string> } = {}) =>
  runHolt(args, { service, ...how })
const onlyPolicy = () => [...service.policies.values()][0]

describe('policy', () => {
  test('create takes names, ports and presets, and prints only the id', async () => {
    const ended = await run([
      'policy',
      'create',
      'web',
      '--allow',
      'a.example.com',
      '--allow',
      '*.b.example.com:80,443',
      '--include',
      'npm',
    ])
    expect(ended).toMatchObject({ code: 0, stdout: `${onlyPolicy()?.policy_id}\n` })
    expect(onlyPolicy()).toMatchObject({
      name: 'web',
      allow: [
        { host: 'a.example.com', ports: [443] },
        { host: '*.b.example.com', ports: [80, 443] },
      ],
      include: ['npm'],
    })
  })

  test('the JSON of get is a valid file for set', async () => {
    await holt.policies.create({ name: 'web', allow: [{ host: 'a.example.com' }] })
    const { stdout } = await run(['policy', 'get', 'web', '--json'])
    const folder = await mkdtemp(join(tmpdir(), 'holt-policy-'))
    await writeFile(join(folder, 'web.json'), stdout)
    const ended = await run(['policy', 'set', 'web', '-f', join(folder, 'web.json'), '--include', 'pypi', '--json'])
    await rm(folder, { recursive: true })
    expect(JSON.parse(ended.stdout)).toMatchObject({
      revision: 2,
      allow: [{ host: 'a.example.com' }],
      include: ['pypi'],
    })
  })

  test('set with a revision replaces no other one', async () => {
    await holt.policies.create({ name: 'web' })
    expect(await run(['policy', 'set', 'web', '--include', 'npm', '--revision', '1'])).toMatchObject({ code: 0 })
    const late = await run(['policy', 'set', 'web', '--include', 'pypi', '--revision', '1'])
    expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('has changed') })
    expect(await holt.policies.get('web')).toMatchObject({ include: ['npm'], revision: 2 })
    expect(await run(['policy', 'set', 'web', '--include', 'npm', '--revision', 'x'])).toMatchObject({ code: 2 })
  })

  test('ls, presets and rm', async () => {
    expect(await run(['policy', 'ls'])).toMatchObject({ stdout: '', stderr: expect.stringContaining('Make one') })
    await holt.policies.create({ name: 'web', include: ['npm'] })
    expect((await run(['policy', 'ls'])).stdout).toMatch(/\nweb +npm +1 +/)
    expect((await run(['policy', 'presets'])).stdout).toContain('registry.npmjs.org:443')
    const removed = await run(['policy', 'rm', 'nothing', 'web', 'neither'])
    expect(removed).toMatchObject({ code: 1, stderr: expect.stringContaining('\nDeleted web\n') })
    expect(removed.stderr.trimEnd().split('\n').at(-1)).toBe('failed: nothing, neither')
    expect(await run(['policy', 'get', 'web'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('holt policy ls'),
    })
  })

  test('the help of create and set has an example that is a valid file', async () => {
    for (const verb of ['create', 'set']) {
      const { stdout } = await run(['policy', verb, '--help'])
      const [example = ''] = /^ {2}\{\n[\s\S]*?^ {2}\}$/m.exec(stdout) ?? []
      expect(PolicyBody.parse(JSON.parse(example)).allow[0]).toMatchObject({ methods: ['GET', 'POST'] })
    }
  })

  test.each([
    ['{"alow": []}', `A policy has no field alow. Its fields: ${policyFields.join(', ')}`],
    [
      '{"allow": [{"host": "a.example.com", "method": "GET"}]}',
      `A rule has no field method. Its fields: ${ruleFields.join(', ')}`,
    ],
  ])('the error of the file %s names the fields that exist', async (input, told) => {
    expect(await run(['policy', 'create', 'web', '-f', '-'], { input })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(told),
    })
    expect([...ruleFields].sort()).toEqual(Object.keys(PolicyRule.shape).sort())
    expect([...policyFields].sort()).toEqual(['name', ...Object.keys(PolicyBody.shape)].sort())
  })

  test('a rule for a network has a note about addresses that are not public', async () => {
    const { stderr } = await run(['policy', 'create', 'web', '--allow', '10.0.0.0/8', '--allow', 'a.example.com'])
    expect(stderr.match(/Addresses of .* HOLT_EGRESS_ALLOWED_NETWORKS/g)).toHaveLength(1)
    const runtime = await holt.runtimes.create({ name: 'mine' })
    const set = await run(['net', 'set', 'mine', '--allow', '10.0.0.0/8', '--allow', '192.0.2.0/24'])
    expect(set.code).toBe(0)
    expect(set.stderr.match(/Addresses of (\S+)/g)).toEqual(['Addresses of 10.0.0.0/8'])
    expect(set.stderr).toContain('HOLT_EGRESS_ALLOWED_NETWORKS')
    await runtime.delete()
  })

  test('a test of an allowed connection prints one line', async () => {
    await holt.runtimes.create({ name: 'mine', network_policy: { allow: [{ host: 'a.example.com' }] } })
    expect(await run(['net', 'test', 'mine', 'a.example.com'])).toMatchObject({
      code: 0,
      stdout: 'allowed: a.example.com:443\n',
      stderr: '',
    })
  })

  test.each([
    [['policy', 'create', 'web'], '--allow HOST'],
    [['policy', 'create', 'web', '--include', 'everything'], 'Allowed choices are npm'],
    [['policy', 'create', 'web', '--allow', 'a:b'], 'HOST:PORT'],
    [['policy', 'create', 'web', '-f', '-'], 'is not JSON'],
    [['create', '--network', 'web', '--allow', 'a.example.com'], 'not both'],
    [['create', '--no-network', '--include', 'npm'], 'not both'],
  ])('%j is wrong usage', async (args, told) => {
    expect(await run(args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(told) })
  })
})

describe('a new runtime', () => {
  test('has a stored policy and secrets', async () => {
    await holt.policies.create({ name: 'web', include: ['npm'] })
    await holt.secrets.create({ name: 'openai', value: 'hunter22' })
    expect((await run(['create', '--network', 'web', '--secret', 'openai'])).code).toBe(0)
    expect([...service.runtimes.values()]).toMatchObject([
      { network_policy: { type: 'stored', name: 'web' }, secrets: ['openai'] },
    ])
  })

  test('has no network at all, in the named region', async () => {
    expect(
      (await run(['create', '--no-network', '--cloud', 'aws', '--region', 'us-east-1', '--spread', 'db'])).code,
    ).toBe(0)
    expect(service.calls.find(({ route }) => route === 'createRuntime')?.body).toMatchObject({
      network_policy: null,
      cloud: 'aws',
      region: 'us-east-1',
      spread: 'db',
    })
  })

  test('has its own policy', async () => {
    const ended = await run(['run', '--allow', 'a.example.com:8443', '--include', 'npm', '--', 'echo', 'hi'])
    expect(ended).toMatchObject({ code: 0, stdout: 'hi\n' })
    expect(service.calls.find(({ route }) => route === 'createRuntime')?.body).toMatchObject({
      network_policy: { allow: [{ host: 'a.example.com', ports: [8443] }], include: ['npm'], allow_all_hosts: false },
    })
  })
})

test('a policy may name every port, and networks that no rule reaches', async () => {
  const options = ['--allow', 'a.example.com:*', '--deny', '203.0.113.7', '--deny', '2001:db8::/32']
  expect((await run(['policy', 'create', 'wide', ...options])).code).toBe(0)
  expect((await run(['policy', 'create', 'wide', '--deny', '203.0.113.7'])).code).not.toBe(0)
  const { stdout } = await run(['policy', 'get', 'wide', '--json'])
  expect(JSON.parse(stdout)).toMatchObject({
    allow: [{ host: 'a.example.com', all_ports: true }],
    deny: ['203.0.113.7/32', '2001:db8::/32'],
  })
  expect((await run(['policy', 'get', 'wide'])).stderr).toContain('203.0.113.7/32 2001:db8::/32')
  expect((await run(['policy', 'ls'])).stdout).toContain('a.example.com:* without 203.0.113.7/32')
})

describe('secret', () => {
  test.each([
    ['that is short', 'hunter22-hunte', [], true],
    ['that is long', 'hunter22-hunter22', [], false],
    ['that is inside in any case', 'hunter22-hunte', ['--env'], false],
  ])('warns that a value %s is not masked in answers', async (_name, input, options, warns) => {
    const place = options.length === 0 ? ['--host', 'api.stripe.com'] : options
    const { code, stderr } = await run(['secret', 'set', 'stripe', ...place], { input })
    expect(code).toBe(0)
    expect(stderr.includes('does not mask it')).toBe(warns)
  })

  const stored = () => [...service.secrets.values()].map(({ value }) => value)

  test('set reads stdin, without the final newline', async () => {
    const ended = await run(['secret', 'set', 'stripe', '--host', 'api.stripe.com'], { input: 'hunter22\n' })
    expect(ended).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('version 1') })
    expect(stored()).toEqual(['hunter22'])
    expect((await run(['secret', 'set', 'stripe'], { input: 'hunter23' })).stderr).toContain('version 2')
    expect(stored()).toEqual(['hunter23'])
    expect(ended.stderr).not.toContain('hunter')
  })

  test('set reads a variable', async () => {
    const env = { STRIPE: 'hunter22' }
    expect(
      (await run(['secret', 'set', 'stripe', '--host', 'api.stripe.com', '--from-env', 'STRIPE'], { env })).code,
    ).toBe(0)
    expect(stored()).toEqual(['hunter22'])
    expect(await run(['secret', 'set', 'stripe', '--from-env', 'NOT_SET'])).toMatchObject({ code: 2 })
  })

  test('a value cannot be an argument, and cannot be empty', async () => {
    expect(await run(['secret', 'set', 'stripe', 'hunter22'])).toMatchObject({ code: 2 })
    expect(await run(['secret', 'set', 'stripe', '--host', 'api.stripe.com'], { input: '\n' })).toMatchObject({
      code: 2,
    })
    expect(stored()).toEqual([])
  })

  test('ls, rm and rotate-key', async () => {
    await holt.secrets.create({ name: 'stripe', value: 'hunter22', hosts: ['api.stripe.com'] })
    const { stdout } = await run(['secret', 'ls'])
    expect(stdout).toMatch(/\nstripe +1 +api\.stripe\.com +authorization +STRIPE +stored/)
    expect(stdout).not.toContain('hunter22')
    expect((await run(['secret', 'rotate-key'])).stderr).toBe('Encrypted 1 values anew\n')
    expect((await run(['secret', 'rm', 'stripe'])).code).toBe(0)
    expect(service.secrets.size).toBe(0)
  })
})

test('providers are set twice, listed and deleted', async () => {
  const set = ['provider', 'set', 'corporate', '--type', 'oauth2', '--token-url', 'https://login.example.com/token']
  expect(await run(set, { input: 'x' })).toMatchObject({ code: 2, stderr: expect.stringContaining('--client-id') })
  for (const version of [1, 2])
    expect((await run([...set, '--client-id', 'holt'], { input: 'hunter22' })).stderr).toContain(`version ${version}`)
  expect((await run(['provider', 'set', 'cloud', '--type', 'workload', '--audience', 'x', '--ttl', '60'])).code).toBe(0)
  expect((await run(['provider', 'ls'])).stdout).toMatch(/\ncloud +workload +1/)
  expect((await run(['provider', 'rm', 'cloud', 'corporate'])).code).toBe(0)
})

describe('net', () => {
  beforeEach(async () => {
    await holt.runtimes.create({ name: 'mine', network_policy: { allow: [{ host: 'api.example.com' }] } })
  })

  test('test exits with 0 if it is allowed and with 1 if not', async () => {
    expect(await run(['net', 'test', 'mine', 'api.example.com'])).toMatchObject({
      code: 0,
      stdout: 'allowed: api.example.com:443\n',
    })
    expect(await run(['net', 'test', 'mine', 'api.example.com:22'])).toMatchObject({
      code: 1,
      stdout: 'denied: no_rule\n',
    })
  })

  test('set takes a policy, options or no policy, one of them', async () => {
    expect((await run(['net', 'get', 'mine'])).stdout).toContain('api.example.com')
    expect((await run(['net', 'set', 'mine', '--none'])).stderr).toBe('Nothing can be reached.\n')
    expect((await run(['net', 'get', 'mine'])).stderr).toContain('nothing can be reached')
    expect((await run(['net', 'set', 'mine', '--include', 'npm'])).stderr).toBe('It may reach npm\n')
    expect((await run(['net', 'set', 'mine', 'web', '--none'])).code).toBe(2)
    expect((await run(['net', 'set', 'mine'])).code).toBe(2)
    expect((await run(['net', 'set', 'mine', 'web'])).stderr).toContain('holt policy ls')
  })

  test('log prints a line for each decision, or JSON on request', async () => {
    const item = {
      type: 'request' as const,
      cursor: 3,
      at: '2030-01-01T00:00:00.000Z',
      name: 'api.example.com',
      address: '203.0.113.1',
      port: 443,
      allowed: false,
      rule: 'request_denied',
      method: 'PUT',
      path: '/a\u001b[2Jb',
      bytes_sent: null,
      bytes_received: null,
      process: { pid: 7, name: 'curl', uid: 1000 },
      secret: null,
    }
    service.decisions.push({ type: 'dropped', cursor: 2, dropped_items: 2 }, item, { type: 'end', cursor: 3 })
    expect(await run(['net', 'log', 'mine'])).toMatchObject({
      code: 0,
      stdout: '2030-01-01T00:00:00.000Z DENY  request api.example.com:443 PUT /a\\u001b[2Jb  request_denied (curl 7)\n',
      stderr: 'holt: 2 decisions are no longer kept\n',
    })
    const lines = (await run(['net', 'log', 'mine', '--json', '--cursor', '2'])).stdout.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).type)).toEqual(['request', 'end'])
  })

  test('an empty log says so', async () => {
    service.decisions.splice(0)
    service.decisions.push({ type: 'end', cursor: 1 })
    expect(await run(['net', 'log', 'mine'])).toEqual({
      code: 0,
      stdout: '',
      stderr: 'It has tried to reach nothing.\n',
    })
    expect((await run(['net', 'log', 'mine', '--denied'])).stderr).toBe('Nothing was denied.\n')
    expect((await run(['net', 'log', 'mine', '--json'])).stderr).toBe('')
  })

  test('suggest prints options', async () => {
    expect(await run(['net', 'suggest', 'mine'])).toMatchObject({
      stdout: '--allow api.example.com\n',
      stderr: '10.0.0.1 is not public\n',
    })
  })
})
