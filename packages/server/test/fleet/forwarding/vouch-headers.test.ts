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
  const headers = { 'holt-protocol': '1', ...vouchHeaders({ vouch, owned, deadlineMs: 5000 }) }
  expect(readVouch(headers, 'ho1')).toEqual({ vouch: { ...vouch, entryHostId: 'ho1' }, owned, deadlineMs: 5000 })
})

const good = {
  'holt-protocol': '2',
  ...vouchHeaders({ vouch: { ...client, caller, visit: null }, owned, deadlineMs: 5000 }),
}
const encode = (facts: unknown) => Buffer.from(JSON.stringify(facts)).toString('base64url')

test.each([
  ['a version that is not known yet', { 'holt-protocol': '3' }],
  ['a version before the first', { 'holt-protocol': '0' }],
  ['no version', { 'holt-protocol': '' }],
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
])('a vouch with %s is refused', (_, change) => {
  expect(readVouch(good, 'ho1')).not.toBe(null)
  expect(readVouch({ ...good, ...change }, 'ho1')).toBe(null)
})

/** The headers of a newer host, with facts and a scope that this one does not know. */
const more = {
  'holt-caller': encode({
    ...{ address: '::1', isSecure: true, visit: null, later: { fact: true } },
    caller: { ...caller, scopes: [...caller.scopes, 'later'], later: 1 },
  }),
}

test('additions of a newer host are ignored, and allow nothing', () => {
  expect(readVouch({ ...good, ...more }, 'ho1')).toEqual(readVouch(good, 'ho1'))
})

test.each([
  ['a fact', more],
  [
    'a scope',
    {
      'holt-caller': encode({ ...client, caller: { ...caller, scopes: ['root'] }, visit: null, requestId: undefined }),
    },
  ],
])('a host of version 1 adds nothing: %s that is not known is refused', (_, change) => {
  const first = { ...good, 'holt-protocol': '1' }
  expect(readVouch(first, 'ho1')).not.toBe(null)
  expect(readVouch({ ...first, ...change }, 'ho1')).toBe(null)
})

test('a host reads only the versions that it speaks', () => {
  expect(readVouch(good, 'ho1', { min: 1, max: 1 })).toBe(null)
  expect(readVouch({ ...good, 'holt-protocol': '1' }, 'ho1', { min: 2, max: 3 })).toBe(null)
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
