import { describe, expect, test } from 'vitest'
import { HttpSessions } from '../src/http/http-sessions.ts'

const limits = { maxPerKey: 2, max: 3, idleMs: 1000 }

/** Sessions with a clock that the test sets, and the ids of those that have ended. */
function open() {
  let now = 0
  const ended: string[] = []
  const sessions = new HttpSessions(limits, () => now)
  return {
    sessions,
    ended,
    at: (ms: number) => {
      now = ms
    },
    add: (id: string, keyId = 'one') => {
      sessions.makeRoom(keyId)
      sessions.add(id, { keyId, owner: `secret of ${keyId}`, close: async () => void ended.push(id) })
    },
  }
}

describe('sessions', () => {
  test('are found only by the secret that opened them', () => {
    const { sessions, add } = open()
    add('a')
    expect(sessions.find('a', 'secret of one')).not.toBeNull()
    expect(sessions.find('a', 'secret of two')).toBeNull()
    expect(sessions.find('b', 'secret of one')).toBeNull()
  })

  test('end after they were idle for too long, but not while a request is open', () => {
    const { sessions, ended, at, add } = open()
    add('a')
    add('b')
    const use = sessions.use('b')
    at(1001)
    sessions.sweep()
    expect(ended).toEqual(['a'])
    use[Symbol.dispose]()
    use[Symbol.dispose]()
    at(2000)
    sessions.sweep()
    expect(ended).toEqual(['a'])
    at(2002)
    sessions.sweep()
    expect(ended).toEqual(['a', 'b'])
  })

  test('the idlest of a key ends when the key opens too many', () => {
    const { sessions, ended, at, add } = open()
    add('a')
    at(1)
    add('b')
    at(2)
    sessions.use('a')[Symbol.dispose]()
    add('c')
    expect(ended).toEqual(['b'])
  })

  test('a key whose sessions are all in use is refused, and other keys are not', () => {
    const { sessions, ended, add } = open()
    add('a')
    add('b')
    using _a = sessions.use('a')
    using _b = sessions.use('b')
    expect(() => add('c')).toThrow(expect.objectContaining({ code: 'rate_limited' }))
    add('d', 'two')
    expect(ended).toEqual([])
  })

  test('all keys together have a limit', () => {
    const { ended, add } = open()
    add('a', 'one')
    add('b', 'two')
    add('c', 'three')
    add('d', 'four')
    expect(ended).toEqual(['a'])
  })

  test('all end with their endpoint', async () => {
    const { sessions, ended, add } = open()
    add('a')
    add('b')
    await sessions.close()
    expect([sessions.size, ended]).toEqual([0, ['a', 'b']])
  })
})
