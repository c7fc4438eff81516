import { type Route, type RouteName, routes } from '@holt/protocol'
import { expect, test } from 'vitest'
import { giveCode } from '../../support/fake-bridge.ts'
import { FakeBuilder } from '../../support/fake-builder.ts'
import { makeProject } from '../../support/own-project.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { fillPath, makeThings, type Things } from '../../support/things-of-a-project.ts'
import { withoutRequest } from '../../support/without-request.ts'

const fieldsOf = ({ query }: Route) => Object.keys((query as { readonly shape?: object } | undefined)?.shape ?? {})

/** Every list that goes on by a cursor. */
const paged = (Object.entries<Route>(routes) as [RouteName, Route][]).filter(
  ([, route]) =>
    route.scope !== 'operator' && fieldsOf(route).includes('cursor') && route.answers[200]?.type === 'json',
)

/** Every stream that begins at a cursor and ends by itself. */
const streamed = (Object.entries<Route>(routes) as [RouteName, Route][]).filter(([, route]) =>
  ['cursor', 'follow'].every((field) => fieldsOf(route).includes(field)),
)

/** A project with three things of each kind. */
interface Side {
  readonly ask: TestServer['ask']
  /** Of the one that is asked about where a path names one. */
  readonly things: Things
  /** The values of the project that no answer to another project may have. */
  readonly marks: readonly string[]
}

/**
 * Two projects with rows that alternate, so that a cursor of one stands between rows of the other.
 */
async function setUp(): Promise<{ mine: Side; theirs: Side }> {
  const server = await startTestServer({ builder: new FakeBuilder() })
  const asks = [server.ask, (await makeProject(server, 'another')).ask]
  const all: Things[][] = [[], []]
  for (const round of ['a', 'b', 'c']) {
    for (const [side, ask] of asks.entries()) all[side]?.push(await makeThings(ask, `of-${side}-${round}`))
  }
  for (const things of all.flat()) giveCode(server.engine, things)
  const sides = asks.map(async (ask, side): Promise<Side> => {
    const [things, ...others] = all[side] ?? []
    if (things === undefined) throw new Error('nothing was made')
    const runtime = `/v1/agents/runtime/${things.runtime_id}`
    const marks = [things, ...others].flatMap(({ port: _, ...ids }) => Object.values(ids))
    for (const number of [1, 2, 3]) {
      const mark = `of-${side}-more-${number}`
      await ask('POST', `/v1/agents/webhook/${things.webhook_id}/test`)
      await ask('POST', `${runtime}/commands`, { json: { command: `echo ${mark}`, session: mark } })
      await ask('PUT', `${runtime}/files/content?path=/workspace/${mark}`, { body: mark })
      marks.push(mark)
    }
    return { ask, things, marks }
  })
  const [mine, theirs] = await Promise.all(sides)
  if (mine === undefined || theirs === undefined) throw new Error('there are two')
  return { mine, theirs }
}

/** The rows of a page without the moments of a last use and of a measurement, which move. */
const rowsOf = ({ json }: { readonly json: { readonly data: readonly object[] } }) =>
  json.data.map((row) => ({ ...row, last_used_at: null, now: null }))

const pathOf = ({ path }: Route, { things }: Side, query: string) =>
  `${fillPath(path, things)}?${path.endsWith('/files/list') ? 'path=/workspace&' : ''}${query}`

test('a cursor of another project gives an empty page or an error', async () => {
  const { mine, theirs } = await setUp()
  expect(paged.length).toBeGreaterThan(10)
  for (const [name, route] of paged) {
    const given = (await mine.ask('GET', pathOf(route, mine, 'limit=1'))).json
    expect([name, given.next_cursor]).toEqual([name, expect.any(String)])
    const whole = await theirs.ask('GET', pathOf(route, theirs, 'limit=100'))
    const wrong = await theirs.ask('GET', pathOf(route, theirs, 'cursor=%00'))
    const cursor = encodeURIComponent(given.next_cursor)
    const answer = await theirs.ask('GET', pathOf(route, theirs, `limit=100&cursor=${cursor}`))
    for (const mark of mine.marks) expect(answer.text, name).not.toContain(mark)
    if (answer.status === 200) {
      const [rows, tail] = [rowsOf(whole), rowsOf(answer)]
      expect([name, tail]).toEqual([name, rows.slice(rows.length - tail.length)])
    } else expect([name, answer.status, withoutRequest(answer)]).toEqual([name, 400, withoutRequest(wrong)])
  }
})

test('a stream from a cursor of another project has nothing of it', async () => {
  const { mine, theirs } = await setUp()
  for (const [name, route] of streamed) {
    for (const cursor of [0, 1, 5, 20]) {
      const query = `cursor=${cursor}&follow=false`
      const { text } = await theirs.ask('GET', pathOf(route, theirs, query), {
        headers: { accept: 'application/x-ndjson' },
      })
      for (const mark of mine.marks) expect(text, name).not.toContain(mark)
    }
  }
})
