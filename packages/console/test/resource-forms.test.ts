import type { Policy, Quotas, Secret } from '@holt/sdk'
import { describe, expect, test } from 'vitest'
import { filterOf } from '../src/audit/audit-search.ts'
import { bytesText, mibText } from '../src/parts/amount-text.ts'
import { durationText } from '../src/parts/spans.ts'
import { bodyOfPolicy, emptyPolicy, formOfPolicy, newRule } from '../src/policies/policy-form.ts'
import { changedQuotas, textsOfQuotas } from '../src/projects/quota-fields.ts'
import { newProviderOf, providerFieldsOf } from '../src/providers/provider-fields.ts'
import { fieldsOf, newSecretOf, newVersionOf } from '../src/secrets/secret-fields.ts'

describe('the form of a policy', () => {
  test('that nobody changes makes the same policy', () => {
    const body = {
      allow: [
        { host: 'api.example.com', ports: [443, 8443], methods: ['GET', 'POST'], paths: ['/v1/*'] },
        { host: '203.0.113.0/24', ports: [5432], protocol: 'tcp' as const, all_ports: true },
      ],
      include: ['npm' as const],
      allow_all_hosts: false,
      deny: ['198.51.100.0/24', '192.0.2.1/32'],
    }
    expect(bodyOfPolicy(formOfPolicy(body as unknown as Policy))).toEqual(body)
  })

  test('leaves a wrong port to the service, and an absent one out', () => {
    const rule = { ...newRule(emptyPolicy), host: ' a.example.com ' }
    const hostsOf = (ports: string) => bodyOfPolicy({ ...emptyPolicy, rules: [{ ...rule, ports }] }).allow
    expect(hostsOf('')).toEqual([{ host: 'a.example.com' }])
    expect(hostsOf('443, many')).toEqual([{ host: 'a.example.com', ports: [443, 'many'] }])
  })
})

describe('the form of a secret', () => {
  const secret = {
    name: 'stripe',
    provider: null,
    hosts: ['api.stripe.com'],
    header: 'authorization',
    format: 'Bearer {value}',
    env: false,
    env_name: 'STRIPE',
  } as unknown as Secret

  test('sends the fields that have a text', () => {
    const fields = { ...fieldsOf(null), name: ' stripe ', hosts: 'a.example.com, b.example.com\n' }
    expect(newSecretOf(fields, 'v')).toEqual({
      name: 'stripe',
      value: 'v',
      hosts: ['a.example.com', 'b.example.com'],
    })
    expect(newSecretOf({ ...fields, provider: 'corporate' }, 'v')).not.toHaveProperty('value')
    expect(newSecretOf({ ...fields, env: true }, 'v')).toEqual({ name: 'stripe', value: 'v', env: true })
  })

  test('sends only changes of a stored one', () => {
    const fields = fieldsOf(secret)
    expect(newVersionOf(fields, '', secret)).toEqual({})
    expect(newVersionOf(fields, 'v2', secret)).toEqual({ value: 'v2' })
    expect(newVersionOf({ ...fields, hosts: '*.stripe.com' }, '', secret)).toEqual({ hosts: ['*.stripe.com'] })
    expect(newVersionOf({ ...fields, provider: 'corporate' }, 'v', secret)).toEqual({ provider: 'corporate' })
  })
})

test.each([
  ['static', { type: 'static', value: 's' }],
  ['workload', { type: 'workload', audience: 'to', ttl_secs: 600, algorithm: 'RS256' }],
  [
    'oauth2',
    {
      type: 'oauth2',
      token_url: 'https://login.example.com',
      client_id: 'holt',
      client_secret: 's',
      scopes: ['a', 'b'],
      audience: 'to',
      authentication: 'basic',
    },
  ],
] as const)('a provider of the type %s has its own settings', (type, settings) => {
  const texts = { name: 'one', tokenUrl: 'https://login.example.com', clientId: 'holt', scopes: 'a  b', audience: 'to' }
  expect(newProviderOf({ ...providerFieldsOf(null), ...texts, type }, 's')).toEqual({ name: 'one', ...settings })
})

test('the form of quotas sends those that changed', () => {
  const before = textsOfQuotas({ runtimes: 4, builds: 2, cpu: null } as unknown as Quotas)
  expect(changedQuotas(before, before)).toEqual({})
  const after = { ...before, runtimes: '', builds: 'default', cpu: '1.5', disk_mib: '-1' }
  expect(changedQuotas(before, after)).toEqual({ runtimes: null, builds: 'default', cpu: 1.5, disk_mib: '-1' })
})

test('the filters of the audit log are those of the service', () => {
  const now = Date.parse('2030-01-02T00:00:00.000Z')
  expect(filterOf({}, now)).toEqual({})
  expect(filterOf({ kind: 'nothing', hours: 'many' }, now)).toEqual({})
  expect(filterOf({ kind: 'change', key: 'ky1', hours: '24', project: 'all' }, now)).toEqual({
    kind: 'change',
    key_id: 'ky1',
    since: '2030-01-01T00:00:00.000Z',
    project: 'all',
  })
})

test.each([
  [0, '0 B'],
  [1023, '1,023 B'],
  [1024, '1 KiB'],
  [1536, '1.5 KiB'],
  [2 ** 20 - 1, '1,023.9 KiB'],
  [200 * 2 ** 20, '200 MiB'],
  [1.5 * 2 ** 30, '1.5 GiB'],
  [2 ** 60, '1,024 PiB'],
])('%d bytes are %s', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text)
  expect(mibText(bytes / 2 ** 20)).toBe(text)
})

test.each([
  [0, '0 ms'],
  [999.4, '999 ms'],
  [1_500, '1.5 s'],
  [245_000, '4 min 5 s'],
  [3_720_000, '1 h 2 min'],
])('%d milliseconds are %s', (ms, text) => {
  expect(durationText(ms)).toBe(text)
})
