import type { Decision } from '@holt/egress'
import { PolicyBody } from '@holt/protocol'
import { longestPieceMs, longestPieceOf } from '@holt/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { loggedDecision } from '../../../src/resources/network/logged-decision.ts'
import { suggestPolicy } from '../../../src/resources/network/suggest-policy.ts'

const ref = { projectId: 'pr1', runtimeId: 'rt1' }

/** A suggestion made of decisions. */
async function suggested(decisions: readonly Partial<Decision>[], current: object | null = null) {
  const rows = decisions.map((decision, index) => ({
    cursor: index + 1,
    item: loggedDecision({
      at: 0,
      type: 'connect',
      name: null,
      address: null,
      port: null,
      allowed: false,
      rule: 'no_rule',
      process: null,
      ...decision,
    }),
  }))
  const log = { read: async (_: unknown, after: number, limit: number) => rows.slice(after, after + limit) }
  const body = current === null ? null : PolicyBody.parse(current)
  return suggestPolicy(log, ref, { current: body, allowedNetworks: ['10.1.0.0/16'] })
}

test('names appear once, with the ports of the attempts', async () => {
  const { add, denied, policy } = await suggested([
    { type: 'dns', name: 'db.example.com' },
    { name: 'db.example.com', port: 5432 },
    { name: 'db.example.com', port: 5432 },
    { name: 'api.example.com', port: 443 },
    { name: 'api.example.com', port: 80 },
  ])
  expect(add).toEqual([
    { host: 'api.example.com', ports: [80, 443] },
    { host: 'db.example.com', ports: [5432] },
  ])
  expect([denied, policy.allow]).toEqual([5, add])
})

test('a name without a known port is assumed to be https, with a remark', async () => {
  const { add, remarks } = await suggested([{ type: 'dns', name: 'registry.npmjs.org' }])
  expect(add).toEqual([{ host: 'registry.npmjs.org', ports: [443] }])
  expect(remarks.map(({ message }) => message)).toEqual([
    expect.stringContaining('443 is a guess'),
    expect.stringContaining('preset npm'),
  ])
})

test('internal addresses and invalid names are left out with a remark', async () => {
  const { add, remarks } = await suggested([
    { name: 'intranet.example.com', port: 443, rule: 'non_public' },
    { address: '169.254.169.254', port: 80, rule: 'no_rule' },
    { address: '10.0.0.1', port: 80, rule: 'no_rule' },
    { type: 'dns', name: 'localhost' },
    { type: 'dns', name: 'bad\\000.example.com' },
  ])
  expect(add).toEqual([])
  expect(remarks.map(({ host }) => host).toSorted()).toEqual(
    ['10.0.0.1', '169.254.169.254', 'bad\\000.example.com', 'intranet.example.com', 'localhost'].toSorted(),
  )
})

test('an address becomes a network of one address, with a remark', async () => {
  const { add, remarks } = await suggested([
    { address: '8.8.4.4', port: 9000 },
    { address: '10.1.2.3', port: 80 }, // which the operator lists
  ])
  expect(add).toEqual([
    { host: '10.1.2.3/32', ports: [80] },
    { host: '8.8.4.4/32', ports: [9000] },
  ])
  expect(remarks.map(({ message }) => message)).toEqual(Array(2).fill(expect.stringContaining('is an address')))
})

test('hosts that are allowed now are not suggested, and the policy keeps its rules', async () => {
  const current = { allow: [{ host: '*.example.com' }], include: ['npm'] }
  const { add, policy } = await suggested(
    [
      { name: 'api.example.com', port: 443 },
      { type: 'dns', name: 'registry.npmjs.org' },
      { name: 'api.example.com', port: 8443 },
      { name: 'example.com', port: 443 },
    ],
    current,
  )
  expect(add).toEqual([
    { host: 'api.example.com', ports: [8443] },
    { host: 'example.com', ports: [443] },
  ])
  expect(policy).toMatchObject({ allow: [{ host: '*.example.com' }, ...add], include: ['npm'] })
})

test('failures for other reasons, allowed attempts and ends need no rule', async () => {
  expect(
    await suggested([
      { name: 'a.example.com', port: 443, allowed: true, rule: 'r' },
      { name: 'a.example.com', port: 443, rule: 'upstream_refused' },
      { name: 'a.example.com', port: 443, rule: 'policy_changed', type: 'close' },
      { name: 'a.example.com', port: 443, rule: 'sni_mismatch' },
    ]),
  ).toMatchObject({ add: [], remarks: [], denied: 0 })
})

test('any denials give a valid policy', async () => {
  const name = fc.oneof(fc.domain(), fc.string({ unit: 'binary' }), fc.ipV4(), fc.ipV6())
  const decision = fc.record({
    type: fc.constantFrom('dns' as const, 'connect' as const, 'request' as const),
    name: fc.option(name),
    address: fc.option(name),
    port: fc.option(fc.integer({ min: 1, max: 65_535 })),
    rule: fc.constantFrom('no_rule', 'non_public', 'request_denied', 'limit'),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(decision, { maxLength: 200 }), async (decisions) => {
      const { policy } = await suggested(decisions)
      expect(PolicyBody.safeParse(policy).error).toBeUndefined()
    }),
  )
})

test('many denied hosts are compared with a large policy, and other requests run meanwhile', async () => {
  const allow = Array.from({ length: 256 }, (_, at) => ({ host: `allowed${at}.example.com`, ports: [443, 8443] }))
  const decisions = Array.from({ length: 20_000 }, (_, at) => ({ name: `denied${at}.example.com`, port: 443 }))
  const longest = await longestPieceOf(async () => {
    expect((await suggested(decisions, { allow })).remarks).toHaveLength(20_000)
  })
  expect(longest).toBeLessThan(longestPieceMs)
})
