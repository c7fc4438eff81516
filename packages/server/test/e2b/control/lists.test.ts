import { expect, test } from 'vitest'
import { type E2bServer, startE2bServer } from '../../support/e2b-server.ts'

async function make(server: E2bServer, metadata: Record<string, string> = {}): Promise<string> {
  const { json } = await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base', metadata } })
  return json.sandboxID
}

async function list(server: E2bServer, query = ''): Promise<string[]> {
  const { status, json } = await server.e2b('GET', `/v2/sandboxes${query}`)
  expect(status).toBe(200)
  return json.map(({ sandboxID }: { sandboxID: string }) => sandboxID)
}

test('a list has the sandboxes that have not ended, in the wanted order and states', async () => {
  const server = await startE2bServer()
  const [one, two, three, ended] = [await make(server), await make(server), await make(server), await make(server)]
  await server.e2b('DELETE', `/sandboxes/${ended}`)
  await server.e2b('POST', `/sandboxes/${two}/pause`)
  expect(await list(server)).toEqual([three, two, one])
  expect(await list(server, '?order=asc')).toEqual([one, two, three])
  expect(await list(server, '?state=running')).toEqual([three, one])
  expect(await list(server, '?state=running%2Cpaused')).toEqual([three, two, one])
  expect(await list(server, '?state=paused')).toEqual([two])
  expect(await list(server, '?template=base-small')).toHaveLength(3)
  expect(await list(server, '?template=other')).toEqual([])
  expect((await server.e2b('GET', '/sandboxes')).json).toHaveLength(2)
  expect((await server.e2b('GET', '/v2/sandboxes?state=gone')).status).toBe(400)
})

test.each(['asc', 'desc'])('pages follow each other in the order %s', async (order) => {
  const server = await startE2bServer()
  const made = [await make(server), await make(server), await make(server)]
  const found: string[] = []
  let token: string | undefined
  for (let pages = 0; pages === 0 || token !== undefined; pages += 1) {
    expect(pages).toBeLessThan(4)
    const next = token === undefined ? '' : `&nextToken=${encodeURIComponent(token)}`
    const { json, headers } = await server.e2b('GET', `/v2/sandboxes?order=${order}&limit=1${next}`)
    found.push(...json.map(({ sandboxID }: { sandboxID: string }) => sandboxID))
    token = headers['x-next-token'] as string | undefined
  }
  expect(found).toEqual(order === 'asc' ? made : made.toReversed())
})

test('a list is filtered by metadata, which clients encode three times', async () => {
  const server = await startE2bServer()
  const metadata = { 'a b': 'c&d', k: 'v', 'ü"\\': '%' }
  const id = await make(server, metadata)
  await make(server, { k: 'v' })
  const thrice = (pairs: object) => {
    const once = Object.entries(pairs).map(([key, value]): [string, string] => [
      encodeURIComponent(key),
      encodeURIComponent(value),
    ])
    return encodeURIComponent(new URLSearchParams(once).toString())
  }
  expect(thrice({ 'a b': 'c&d', k: 'v' })).toBe('a%252520b%3Dc%252526d%26k%3Dv')
  expect(await list(server, `?metadata=${thrice(metadata)}`)).toEqual([id])
  expect(await list(server, `?metadata=${thrice({ k: 'v' })}`)).toHaveLength(2)
  expect(await list(server, `?metadata=${thrice({ k: 'w' })}`)).toEqual([])
  const { json } = await server.e2b('GET', `/sandboxes?metadata=${thrice(metadata)}`)
  expect(json).toMatchObject([{ sandboxID: id, metadata }])
})

test('a list begins with a start', async () => {
  const server = await startE2bServer()
  const id = await make(server)
  const { startedAt } = (await server.e2b('GET', `/sandboxes/${id}`)).json
  const later = new Date(Date.parse(startedAt) + 1).toISOString()
  expect(await list(server, `?startedAfter=${encodeURIComponent(startedAt)}`)).toEqual([id])
  expect(await list(server, `?startedAfter=${encodeURIComponent(startedAt.replace('Z', '+00:00'))}`)).toEqual([id])
  expect(await list(server, `?startedAfter=${encodeURIComponent(later)}`)).toEqual([])
})
