import type { SuggestedPolicy } from '@holt/sdk'
import { expect, test } from 'vitest'
import { deniedConnection } from '../../sdk/test/support/samples.ts'
import { type Decision, rulesOfAll, rulesOfLine, ruleText, widened } from '../src/network/allow-rules.ts'
import { destinationOf, findLines, ruleOf } from '../src/network/log-filter.ts'

const suggested = (change: Partial<SuggestedPolicy> = {}): SuggestedPolicy => ({
  add: [
    { host: 'api.example.com', ports: [80, 443] },
    { host: '203.0.113.7/32', ports: [5432] },
  ],
  policy: { allow: [], include: [], allow_all_hosts: false, deny: [] },
  remarks: [{ host: '203.0.113.7', message: 'is an address' }],
  denied: 3,
  ...change,
})

test.each<[string, Partial<Decision>, string[]]>([
  ['its port only', {}, ['api.example.com:443']],
  ['every tried port of a name that was only looked up', { type: 'dns', port: null }, ['api.example.com:80,443']],
  ['the network of an address', { name: null, address: '203.0.113.7', port: 5432 }, ['203.0.113.7/32:5432']],
  ['nothing where the service suggests nothing', { name: 'localhost' }, []],
  [
    'the method and the path of a refused request',
    { rule: 'request_denied', method: 'POST', path: '/v1/items' },
    ['api.example.com:443 POST /v1/items'],
  ],
])('a line is allowed by %s', (_, change, rules) => {
  expect(rulesOfLine(deniedConnection(change), suggested()).rules.map(ruleText)).toEqual(rules)
})

test('a path that ends with * is no rule for one request, because it would stand for anything', () => {
  const wide = deniedConnection({ rule: 'request_denied', method: 'GET', path: '/v1/*' })
  expect(rulesOfLine(wide, suggested({ add: [] })).rules).toEqual([])
})

test('remarks are about the host of the line, or about every host', () => {
  expect(rulesOfLine(deniedConnection({}), suggested()).remarks).toEqual([])
  expect(rulesOfAll(suggested()).remarks).toEqual(['203.0.113.7 is an address'])
})

test('a wider policy keeps what it had', () => {
  const rule = { host: 'new.example.com', ports: [443] }
  const current = {
    allow: [{ host: 'a.example.com', ports: [1] }],
    include: ['npm' as const],
    allow_all_hosts: false,
    deny: ['203.0.113.0/24'],
  }
  expect(widened(current, [rule])).toEqual({ ...current, allow: [...current.allow, rule] })
  expect(widened(null, [rule])).toEqual({ allow: [rule] })
})

test('lines are found by decision and by any part, newest first', () => {
  const lines = [
    deniedConnection({ cursor: 1 }),
    deniedConnection({ cursor: 2, allowed: true, rule: 'preset npm', name: 'registry.npmjs.org' }),
    deniedConnection({ cursor: 3, process: { pid: 7, name: 'curl', uid: 1000 } }),
  ]
  const cursors = (decided: string, text: string) => findLines(lines, decided, text).map(({ cursor }) => cursor)
  expect(cursors('all', '')).toEqual([3, 2, 1])
  expect(cursors('denied', '')).toEqual([3, 1])
  expect(cursors('allowed', '')).toEqual([2])
  expect(cursors('all', 'CURL')).toEqual([3])
  expect(cursors('all', ':443')).toEqual([3, 2, 1])
  expect(cursors('all', 'npmjs')).toEqual([2])
})

test('a denial has its reason in words, and a destination its port', () => {
  expect(ruleOf(deniedConnection({ rule: 'non_public' }))).toBe('the address is not public')
  expect(ruleOf(deniedConnection({ rule: 'constructor' }))).toBe('constructor')
  expect(ruleOf(deniedConnection({ allowed: true, rule: 'no_rule' }))).toBe('no_rule')
  expect(destinationOf(deniedConnection({ name: null, address: null, port: null }))).toBe('unknown')
})
