import { Readable } from 'node:stream'
import type { GuestLink } from '@holt/engine'
import { describe, expect, test } from 'vitest'
import { GuestClient } from '../src/index.ts'
import { questions } from './support/honest-answers.ts'
import { liesAt, placesOf, valueAt, withLie } from './support/lies.ts'

const signal = AbortSignal.timeout(120_000)
const wrong = { name: 'EngineError', kind: 'wrong_answer', message: expect.stringContaining('answered wrongly') }

/** Returns a client of a guest that gives this answer to every request. */
function clientOf(answer: unknown, { status = 200, headers = {} }: { status?: number; headers?: object } = {}) {
  const lines = Array.isArray(answer) ? answer : [answer]
  const body = () => Readable.from([Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))])
  const link: GuestLink = { connected: true, request: async () => ({ status, headers: { ...headers }, body: body() }) }
  return new GuestClient(link)
}

describe.each(questions)('a guest that is asked for $name', ({ answer, ask }) => {
  test('is accepted if the guest is honest', async () => {
    await expect(ask(clientOf(answer), signal)).resolves.toBeDefined()
  })

  test.each(placesOf(answer).map((place) => ({ place, name: place.join('.') })))(
    'is not believed where it lies in $name',
    async ({ place }) => {
      for (const lie of liesAt(place, valueAt(answer, place))) {
        const answered = ask(clientOf(withLie(answer, place, lie)), signal)
        await expect(answered, JSON.stringify(lie).slice(0, 80)).rejects.toMatchObject(wrong)
      }
    },
  )

  test.each([204, 206, 299, 302, 399])('is refused with the status %d', async (status) => {
    await expect(ask(clientOf(answer, { status }), signal)).rejects.toMatchObject(wrong)
  })
})

const honestFailure = { error: { code: 'conflict', message: 'no', details: { reason: 'session_busy', offset: 1 } } }

test.each([
  ['code', 'weird'],
  ['code', 'unauthenticated'],
  ['code', '\u001b[2J'],
  ['message', 'a\0b'],
  ['message', '\ud800'],
  ['message', 'x'.repeat(20_000)],
  ['message', 7],
  ['details', { reason: '$(touch /tmp/PWNED)' }],
  ['details', { offset: -1 }],
  ['details', 7],
])('a failure whose %s is %j is a wrong answer', async (field, lie) => {
  await expect(questions[0]?.ask(clientOf(honestFailure, { status: 409 }), signal)).rejects.toMatchObject({
    code: 'conflict',
  })
  const failure = withLie(honestFailure, ['error', field], lie)
  await expect(questions[0]?.ask(clientOf(failure, { status: 409 }), signal)).rejects.toMatchObject(wrong)
})

const tree = { onlyChanged: false }
const paths = { sources: ['/d'] }
const content = { path: '/d/f', range: null }

test.each([
  ['x-holt-only-changed', '$(id)', (guest: GuestClient) => guest.trees.export(tree, signal)],
  ['x-holt-matches', '-1', (guest: GuestClient) => guest.trees.select(paths, signal)],
  ['x-holt-single-file', 'yes', (guest: GuestClient) => guest.trees.select(paths, signal)],
  ['content-length', '1e9', (guest: GuestClient) => guest.content.read(content, signal)],
  ['content-range', 'lines 1-2', (guest: GuestClient) => guest.content.read(content, signal)],
  ['etag', '"a"\r\nset-cookie: a', (guest: GuestClient) => guest.content.read(content, signal)],
  ['last-modified', '\u001b[2J', (guest: GuestClient) => guest.content.read(content, signal)],
  ['x-holt-mode', '04755', (guest: GuestClient) => guest.content.read(content, signal)],
])('a header %s that is %j is a wrong answer', async (name, lie, ask) => {
  const headers = { 'x-holt-only-changed': '0', 'x-holt-matches': '1', 'x-holt-single-file': '0' }
  await expect(ask(clientOf({}, { headers }))).resolves.toBeDefined()
  await expect(ask(clientOf({}, { headers: { ...headers, [name]: lie } }))).rejects.toMatchObject(wrong)
})

test('an answer about another path is refused, also by its bytes', async () => {
  const file = questions.find(({ name }) => name === 'stat')?.answer as Record<string, unknown>
  const path_base64 = Buffer.from('/etc/shadow').toString('base64')
  await expect(clientOf({ ...file, path_base64 }).files.stat('/d/f', signal)).rejects.toMatchObject(wrong)
  await expect(clientOf(file).files.stat('/d/g', signal)).rejects.toMatchObject(wrong)
})
