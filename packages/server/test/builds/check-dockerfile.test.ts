import { setImmediate } from 'node:timers/promises'
import { longestPieceMs, longestPieceOf } from '@holt/testkit'
import { expect, test } from 'vitest'
import { makeProject } from '../support/own-project.ts'
import { startTestServer } from '../support/start-test-server.ts'

const path = '/v1/agents/template/check'
const lines = <Line>(count: number, line: (index: number) => Line) => Array.from({ length: count }, (_, at) => line(at))

const stars = ['FROM scratch', `ARG X=${'a'.repeat(200_000)}`, ...lines(20, (at) => `ARG Y${at}=\${X//*a*a*b/z}`)]
const attacks: readonly [string, string][] = [
  ['patterns of stars before FROM', [...stars.slice(1), 'FROM scratch'].join('\n')],
  [
    'a value of half a megabyte 450 times',
    [`ARG X=${'a'.repeat(500_000)}`, ...lines(450, (at) => `ARG Y${at}=\${X//b/c}`), 'FROM scratch'].join('\n'),
  ],
  ['a here-document of blanks', `FROM scratch\nCOPY ["a", "<<${' '.repeat(150_000)}<"]`],
  ['as many words as fit', `FROM scratch\n${`ENV ${'a=b '.repeat(1000)}\n`.repeat(250)}`],
]

test.each(attacks)('%s: other projects are served meanwhile', { timeout: 60_000 }, async (_, dockerfile) => {
  const server = await startTestServer()
  const { ask } = server
  const { key } = await makeProject(server, 'bystander')
  await ask('POST', path, { json: { dockerfile: 'FROM scratch' } })
  let answered = 0
  const longest = await longestPieceOf(async () => {
    let open = 4
    const checks = lines(4, async () => {
      const { status } = await ask('POST', path, { json: { dockerfile } }).finally(() => {
        open -= 1
      })
      expect(status).toBe(200)
    })
    while (open > 0) {
      expect((await ask('GET', '/v1/agents/whoami', { key })).status).toBe(200)
      answered += 1
    }
    await Promise.all(checks)
  })
  expect(longest).toBeLessThan(longestPieceMs)
  expect(answered).toBeGreaterThan(0)
})

test('a project with too many concurrent checks gets 429', { timeout: 60_000 }, async () => {
  const server = await startTestServer()
  const { ask } = server
  const { key } = await makeProject(server, 'bystander')
  const dockerfile = [...stars.slice(1), 'FROM scratch'].join('\n')
  const open = lines(40, () => ask('POST', path, { json: { dockerfile } }))
  const answers = await Promise.all(open)
  const refused = answers.filter(({ status }) => status !== 200)
  expect(refused.length).toBeGreaterThan(0)
  expect(answers.length - refused.length).toBeGreaterThanOrEqual(17)
  for (const { status, json, headers } of refused) {
    expect(status).toBe(429)
    expect(json.error).toMatchObject({ code: 'rate_limited', hint: expect.any(String), details: { limit: 16 } })
    expect(headers.get('retry-after')).toBe('1')
  }
  expect((await ask('POST', path, { json: { dockerfile: 'FROM scratch' }, key })).json).toMatchObject({ ok: true })
})

test('a check stops when its client disconnects', async () => {
  const { ask } = await startTestServer()
  const dockerfile = [...stars.slice(1), 'FROM scratch'].join('\n')
  const gone = new AbortController()
  const left = lines(10, () => ask('POST', path, { json: { dockerfile }, signal: gone.signal }))
  await setImmediate()
  gone.abort()
  for (const one of await Promise.allSettled(left)) expect(one.status).toBe('rejected')
  expect((await ask('POST', path, { json: { dockerfile: 'FROM scratch' } })).json).toMatchObject({ ok: true })
})
