import type { NetworkLogItem, NetworkLogOptions, Runtime } from '@holt/sdk'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { deniedConnection } from '../../../sdk/test/support/samples.ts'
import { OutputTail, tellOfDenials } from '../../src/running/tell-of-denials.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

type Decision = Extract<NetworkLogItem, { readonly rule: string }>
const at = '2026-01-01T00:00:10.000Z'
const decision = (more: Partial<Decision>): Decision => deniedConnection({ at, name: 'registry.npmjs.org', ...more })

/** Returns the text printed for a failed command when the log has these items. */
async function told(
  items: readonly (NetworkLogItem | Error)[],
  startedAt: string | null = null,
  { policy = 'po1', output = '' }: { readonly policy?: string | null; readonly output?: string } = {},
): Promise<string> {
  let text = ''
  vi.spyOn(process.stderr, 'write').mockImplementation((part) => {
    text += String(part)
    return true
  })
  const log = async function* ({ since = '' }: NetworkLogOptions) {
    for (const item of items) {
      if (item instanceof Error) throw item
      if (!('at' in item) || since === '' || Date.parse(item.at) >= Date.parse(since)) yield item
    }
  }
  await tellOfDenials({
    runtime: { runtime_id: 'rt1', name: 'mine', network_policy: policy, network: { log } } as unknown as Runtime,
    startedAt,
    output: new OutputTail(output),
  })
  return text
}

describe('after a command that failed', () => {
  test('one line has each denied destination once, and what to do', async () => {
    const four = [decision({}), decision({}), decision({ type: 'dns', port: null }), decision({ port: 80 })]
    expect(await told(four)).toBe(
      'holt: 1 destination was denied by the network policy (registry.npmjs.org:80,443): holt net suggest rt1\n',
    )
    expect(await told([decision({ type: 'dns', port: null })])).toBe(
      'holt: 1 destination was denied by the network policy (registry.npmjs.org): holt net suggest rt1\n',
    )
  })

  test('destinations are counted, and not attempts', async () => {
    const query = decision({ name: 'a.example', type: 'dns', port: null })
    const address = decision({ name: null, address: '192.0.2.1', port: 22 })
    expect(await told([query, query, address, query, query, address])).toBe(
      'holt: 2 destinations were denied by the network policy (a.example; 192.0.2.1:22): holt net suggest rt1\n',
    )
  })

  test.each([
    'curl: (6) Could not resolve host: pypi.org',
    'npm error code EAI_AGAIN',
    "WARNING: Retrying ... NewConnectionError: [Errno -3] Temporary failure in name resolution'",
    'E: Failed to fetch http://deb.debian.org/x  Temporary failure resolving',
    'Error: getaddrinfo ENOTFOUND registry.npmjs.org',
    'dial tcp: lookup proxy.golang.org: no such host',
    'connect: Network is unreachable',
  ])('without a network, a line says how to add one: %s', async (output) => {
    const options = '--allow HOST, or --include npm (pypi, github, debian)'
    expect(await told([], null, { policy: null, output })).toBe(`holt: the runtime has no network: add ${options}\n`)
    expect(await told([], at, { policy: null, output })).toBe(
      `holt: the runtime has no network: holt net set mine ${options}\n`,
    )
  })

  test('that failed for another reason, or without denials, has no line', async () => {
    expect(await told([], null, { policy: null, output: 'no such file' })).toBe('')
    expect(await told([], null, { output: 'curl: (6) Could not resolve host: pypi.org' })).toBe('')
  })

  test('an allowed name with a private address is explained', async () => {
    expect(await told([decision({ name: 'db.example', rule: 'non_public' })])).toBe(
      'holt: 1 destination was denied by the network policy (db.example:443, non_public: it is a private address): holt net suggest rt1\n',
    )
  })

  test('names are shortened, and text of a runtime is shown without control characters', async () => {
    const many = Array.from({ length: 9 }, (_, index) => decision({ name: `h${index}\u001b[2J` }))
    const line = await told(many)
    expect(line).toContain('and 6 more')
    expect(line).not.toContain('\u001b')
  })

  test('allowed, ended and earlier connections are not told', async () => {
    const others = [decision({ allowed: true }), decision({ type: 'close' }), { type: 'end', cursor: 3 } as const]
    expect(await told(others)).toBe('')
    expect(await told([decision({})], '2026-01-01T00:00:10.200Z')).toBe('')
    expect(await told([decision({})], at)).toMatch(/: holt net suggest mine\n$/)
  })

  test('an unreadable log prints nothing', async () => {
    expect(await told([decision({}), new Error('gone')])).toBe('')
  })
})
