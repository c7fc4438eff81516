import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Entry, type EntryFacts, type EntryNames, entryOf } from '../../src/index.ts'

const names: EntryNames = { domain: 'e.test', portDomain: 'localhost', own: new Set(['holt.lan']) }
const alone: EntryNames = { ...names, domain: null }
const id = 'rtaaaaaaaaaaaaaaaaaaaa'

function ask(host: string, target: string, headers: Partial<EntryFacts> = {}): EntryFacts {
  return { host, target, sandboxId: undefined, sandboxPort: undefined, ...headers }
}

const both = { sandboxId: id, sandboxPort: '49983' }
const envd = { type: 'sandbox', sandboxId: id, port: 49_983 }

describe('names below the domain', () => {
  it.each<[string, EntryFacts, object]>([
    ['the control plane', ask('api.e.test', '/sandboxes'), { type: 'control' }],
    ['an unknown path of the control plane', ask('api.e.test', '/v1/agents/runtime'), { type: 'control' }],
    ['the control plane despite headers', ask('api.e.test', '/sandboxes', both), { type: 'control' }],
    ['commands and files', ask(`49983-${id}.e.test`, '/health'), { ...envd, by: 'host' }],
    ['a port', ask(`3000-${id}.e.test`, '/v1/agents/runtime'), { ...envd, port: 3000, by: 'host' }],
    [
      'a port despite headers',
      ask(`3000-${id}.e.test`, '/', { ...both, sandboxId: 'rtb' }),
      { ...envd, port: 3000, by: 'host' },
    ],
    ['a label with more parts', ask(`3000-${id}-x-y.e.test`, '/'), { ...envd, port: 3000, by: 'host' }],
    ['the shared name of sandboxes', ask('sandbox.e.test', '/health', both), { ...envd, by: 'headers' }],
    ['the shared name without headers', ask('sandbox.e.test', '/health'), { type: 'incomplete' }],
    ['the shared name without a port', ask('sandbox.e.test', '/health', { sandboxId: id }), { type: 'incomplete' }],
    ['the shared name without an id', ask('sandbox.e.test', '/', { sandboxPort: '49983' }), { type: 'incomplete' }],
    ['another name', ask('www.e.test', '/v1/agents/runtime'), { type: 'unknown' }],
    ['a name with a port of zero', ask(`0-${id}.e.test`, '/'), { type: 'unknown' }],
    ['a name with a port of many digits', ask(`065535-${id}.e.test`, '/'), { type: 'unknown' }],
    ['a name with a port beyond all', ask(`65536-${id}.e.test`, '/'), { type: 'unknown' }],
    ['a name of two labels', ask(`3000-${id}.api.e.test`, '/'), { type: 'unknown' }],
  ])('finds %s', (_, facts, expected) => {
    expect(entryOf(facts, names)).toEqual(expected)
  })

  it("leaves Holt's own port addresses below the domain alone", () => {
    const nested = { ...names, portDomain: 'ports.e.test' }
    expect(entryOf(ask(`3000-${id}.ports.e.test`, '/', both), nested)).toEqual({ type: 'holt' })
    expect(entryOf(ask('api.e.test', '/'), nested)).toEqual({ type: 'control' })
  })

  it('takes all names where both domains are the same', () => {
    const same = { ...names, portDomain: 'e.test' }
    expect(entryOf(ask(`3000-${id}.e.test`, '/'), same)).toEqual({ ...envd, port: 3000, by: 'host' })
  })
})

describe('the shared address', () => {
  it.each(['localhost', '127.0.0.1', '[::1]', 'holt.lan', '10.1.2.3'])('is %s', (host) => {
    expect(entryOf(ask(host, '/anything', both), alone)).toEqual({ ...envd, by: 'headers' })
    expect(entryOf(ask(host, '/v2/sandboxes?limit=1'), alone)).toEqual({ type: 'control' })
    expect(entryOf(ask(host, '/files?path=a&signature=b'), alone)).toEqual({ type: 'signed' })
    expect(entryOf(ask(host, '/v1/agents/runtime'), alone)).toEqual({ type: 'holt' })
  })

  it.each<[EntryFacts, string]>([
    [ask('localhost', '/health'), 'control'],
    [ask('localhost', '/health', both), 'sandbox'],
    [ask('localhost', '/metrics'), 'holt'],
    [ask('localhost', '/metrics', both), 'sandbox'],
    [ask('localhost', '/v1/agents/runtime', both), 'sandbox'],
    [ask('localhost', '/', { ...both, sandboxPort: '49983, 80' }), 'incomplete'],
    [ask('localhost', '/', { ...both, sandboxId: `${id}, ${id}` }), 'incomplete'],
    [ask('localhost', '/files?path=a'), 'holt'],
    [ask('localhost', '/sandboxesque'), 'holt'],
    [ask('localhost', '/v1/sandboxes'), 'holt'],
    [ask('localhost', '/e2b'), 'holt'],
    [ask('', '/sandboxes', both), 'holt'],
    [ask('evil.example', '/sandboxes', both), 'holt'],
    [ask(`3000-${id}.localhost`, '/sandboxes', both), 'holt'],
    [ask('127.0.0.1.evil.example', '/sandboxes', both), 'holt'],
  ])('finds the entry of %o', (facts, type) => {
    expect(entryOf(facts, alone).type).toBe(type)
  })

  it('tries no signatures where there is a domain', () => {
    expect(entryOf(ask('localhost', '/files?signature=a'), names)).toEqual({ type: 'holt' })
  })
})

describe('every request', () => {
  const label = fc.stringMatching(/^[a-z0-9-]{1,12}$/)
  const host = fc.oneof(label, fc.constantFrom('localhost', 'e.test', 'api.e.test', 'sandbox.e.test', ''))
  const header = fc.option(fc.oneof(fc.constantFrom(id, '49983', ''), fc.string()), { nil: undefined })
  const facts = fc.record({
    host: fc.oneof(
      host,
      fc.tuple(label, host).map((parts) => parts.join('.')),
    ),
    target: fc.oneof(fc.constantFrom('/sandboxes', '/files?signature=x', '/v1/agents/runtime'), fc.webPath()),
    sandboxId: header,
    sandboxPort: header,
  })
  const isBelow = ({ host }: EntryFacts) => host.endsWith('.e.test')

  it('never reaches Holt by a name below the domain', () => {
    fc.assert(fc.property(facts.filter(isBelow), (asked) => entryOf(asked, names).type !== 'holt'))
  })

  it('reaches the sandbox of its name, whatever the headers say', () => {
    fc.assert(
      fc.property(facts.filter(isBelow), (asked) => {
        const bare = { ...asked, sandboxId: undefined, sandboxPort: undefined }
        if (asked.host === 'sandbox.e.test') return
        expect(entryOf(asked, names)).toEqual(entryOf(bare, names))
      }),
    )
  })

  it('gets a port of a sandbox only in canonical form', () => {
    const isCanonical = (entry: Entry) =>
      entry.type !== 'sandbox' || (entry.port >= 1 && entry.port <= 65_535 && /^\w+$/.test(entry.sandboxId))
    fc.assert(fc.property(facts, fc.constantFrom(names, alone), (asked, which) => isCanonical(entryOf(asked, which))))
  })
})
