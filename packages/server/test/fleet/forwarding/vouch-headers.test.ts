import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readVouch, vouchHeaders } from '../../../src/fleet/forwarding/vouch-headers.ts'

const caller = {
  projectId: 'pr1',
  keyId: 'ky1',
  keyName: 'a náme',
  keyVersion: 2,
  scopes: new Set(['runtime:read', 'admin'] as const),
}
const visit = {
  projectId: 'pr1',
  by: 'token',
  credential: { keyId: 'ky1', keyVersion: 1, session: { digest: 'd', endsAt: 5 } },
  expiresAt: 7,
  generation: 3,
} as const
const owned = { type: 'runtime', projectId: 'pr1', id: 'rt1' } as const
const client = { requestId: 'rq1', address: '::1', isSecure: true }

test.each([
  ['a caller', { ...client, caller, visit: null }],
  ['a visit', { ...client, caller: null, visit }],
])('the vouch for %s is read as it was written', (_, vouch) => {
  const headers = vouchHeaders({ vouch, owned, deadlineMs: 5000 })
  expect(readVouch(headers, 'ho1')).toEqual({ vouch: { ...vouch, entryHostId: 'ho1' }, owned, deadlineMs: 5000 })
})

const good = vouchHeaders({ vouch: { ...client, caller, visit: null }, owned, deadlineMs: 5000 })
const encode = (facts: unknown) => Buffer.from(JSON.stringify(facts)).toString('base64url')

test.each([
  ['another version', { 'holt-protocol': '2' }],
  ['a second hop', { 'holt-hops': '2' }],
  ['no owned thing', { 'holt-owned': '' }],
  ['a thing of another project', { 'holt-owned': 'runtime pr2 rt1' }],
  ['no deadline', { 'holt-deadline-ms': 'soon' }],
  ['a request id with a line break', { 'x-request-id': 'a\nb' }],
  ['no JSON', { 'holt-caller': 'AAAA' }],
  [
    'neither caller nor visit',
    { 'holt-caller': encode({ address: null, isSecure: false, caller: null, visit: null }) },
  ],
  ['both', { 'holt-caller': encode({ address: null, isSecure: false, caller: { ...caller, scopes: [] }, visit }) }],
  [
    'an unknown scope',
    { 'holt-caller': encode({ address: null, isSecure: false, caller: { ...caller, scopes: ['root'] }, visit: null }) },
  ],
])('a vouch with %s is refused', (_, change) => {
  expect(readVouch(good, 'ho1')).not.toBe(null)
  expect(readVouch({ ...good, ...change }, 'ho1')).toBe(null)
})

test('any other headers are refused, and never throw', () => {
  const names = Object.keys(good)
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.string(), (name, value) => {
      const read = readVouch({ ...good, [name]: value }, 'ho1')
      if (read !== null) expect(read.owned.projectId).toBe(read.vouch.caller?.projectId)
    }),
  )
})
