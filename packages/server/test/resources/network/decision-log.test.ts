import { keptDecisions, type NetworkLogItem } from '@holt/protocol'
import { expect, test } from 'vitest'
import type { RecordedEgress } from '../../support/recording-gateway.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'

const web = { allow: [{ host: 'api.example.com', ports: [443] }] }

async function withRuntime(): Promise<TestServer & { id: string; log: string; egress: RecordedEgress }> {
  const server = await startTestServer()
  const id = await server.makeRuntime({ network_policy: web })
  const egress = server.gateway.of(id)
  if (egress === null) throw new Error('no way out')
  return { ...server, id, log: `/v1/agents/runtime/${id}/network/log`, egress }
}

const itemsOf = (text: string): NetworkLogItem[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

test('decisions are in order, with every field and a final item', async () => {
  const { ask, log, egress } = await withRuntime()
  egress.decide({ type: 'dns', port: null, name: 'a.example.com' })
  const process = { pid: 7, name: 'curl', uid: 1000 }
  egress.decide({ type: 'request', allowed: true, rule: 'r', method: 'GET', path: '/a', process, secret: 's' })
  egress.decide({ type: 'close', allowed: true, rule: 'r', bytes_sent: 1, bytes_received: 2 })
  const items = itemsOf((await ask('GET', log)).text)
  expect(items.map(({ type, cursor }) => [type, cursor])).toEqual([
    ['dns', 1],
    ['request', 2],
    ['close', 3],
    ['end', 3],
  ])
  expect(items[1]).toMatchObject({
    allowed: true,
    rule: 'r',
    method: 'GET',
    path: '/a',
    process,
    secret: 's',
    bytes_sent: null,
  })
  expect(itemsOf((await ask('GET', `${log}?cursor=2`)).text).map(({ type }) => type)).toEqual(['close', 'end'])
  expect(itemsOf((await ask('GET', `${log}?denied=true`)).text).map(({ type }) => type)).toEqual(['dns', 'end'])
})

test.each([
  ['1970-01-01T00:00:00.000Z', 1],
  ['1970-01-01T00:00:01.000Z', 1],
  ['1970-01-01T00:00:01.001Z', 2],
  ['1970-01-01T01:00:25.500+01:00', 26],
  ['1970-01-01T00:00:40.000Z', 40],
])('decisions since %s begin at the first of them', async (since, first) => {
  const { ask, log, egress } = await withRuntime()
  for (let second = 1; second <= 40; second += 1) egress.decide({ at: second * 1000 })
  const cursors = async (query: string) =>
    itemsOf((await ask('GET', `${log}?${query}`)).text).map((item) => item.cursor)
  const expected = Array.from({ length: 41 - first }, (_, index) => first + index)
  const query = `since=${encodeURIComponent(since)}`
  expect(await cursors(query)).toEqual([...expected, 40])
  expect(await cursors(`${query}&cursor=39`)).toEqual([40, 40])
})

test('a future time gives no decisions, and an invalid time is refused', async () => {
  const { ask, log, egress } = await withRuntime()
  for (const second of [1, 2, 3]) egress.decide({ at: second * 1000 })
  const items = itemsOf((await ask('GET', `${log}?since=1970-01-01T00:00:04.000Z`)).text)
  expect(items).toEqual([{ type: 'end', cursor: 3 }])
  expect((await ask('GET', `${log}?since=yesterday`)).status).toBe(400)
})

test('text that a runtime chose is shortened', async () => {
  const { ask, log, egress } = await withRuntime()
  egress.decide({
    path: 'x'.repeat(100_000),
    name: 'y'.repeat(1000),
    process: { pid: 1, name: 'z'.repeat(1000), uid: 0 },
  })
  expect((await ask('GET', log)).text.length).toBeLessThan(3000)
})

test('the log continues after a restart, and stays after the end of its runtime', async () => {
  const server = await withRuntime()
  server.egress.decide({ name: 'a.example.com' })
  const again = await server.restart()
  again.gateway.of(server.id)?.decide({ name: 'b.example.com' })
  await again.ask('DELETE', `/v1/agents/runtime/${server.id}`)
  const items = itemsOf((await again.ask('GET', server.log)).text)
  expect(items.map((item) => ['name' in item ? item.name : null, item.cursor])).toEqual([
    ['a.example.com', 1],
    ['b.example.com', 2],
    [null, 2],
  ])
})

test('a follower gets new decisions, and the end when the runtime ends', async () => {
  const { server, log, egress, ask, id } = await withRuntime()
  egress.decide({ name: 'a.example.com' })
  const response = await fetch(`${server.url}${log}?follow=true`, {
    headers: { authorization: `Bearer ${server.adminKey}` },
  })
  const names: (string | null)[] = []
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString()
    const items = text.endsWith('\n') ? itemsOf(text) : []
    names.splice(0, names.length, ...items.map((item) => ('name' in item ? item.name : item.type)))
    if (names.length === 1) egress.decide({ name: 'b.example.com' })
    if (names.length === 2) await ask('DELETE', `/v1/agents/runtime/${id}`)
  }
  expect(names).toEqual(['a.example.com', 'b.example.com', 'end'])
})

test('a flood is cut within bounded memory, and the log has the number of lost decisions', async () => {
  const { ask, log, egress } = await withRuntime()
  for (let index = 0; index < 20_000; index += 1) egress.decide({ port: (index % 60_000) + 1 })
  await ask('GET', log)
  egress.decide({ name: 'last.example.com' })
  const items = itemsOf((await ask('GET', log)).text)
  const dropped = items.filter((item) => item.type === 'dropped')
  expect(dropped).toEqual([{ type: 'dropped', cursor: 20_000, dropped_items: expect.any(Number) }])
  expect(items.length - 2 + (dropped[0]?.dropped_items ?? 0)).toBe(20_001)
  expect(items.length).toBeLessThan(5000)
  expect(items.at(-2)).toMatchObject({ name: 'last.example.com', cursor: 20_001 })
})

test('the newest 10,000 are kept', async () => {
  const { ask, log, egress } = await withRuntime()
  const rounds = keptDecisions / 500 + 2
  for (let round = 0; round < rounds; round += 1) {
    for (let index = 0; index < 500; index += 1) egress.decide()
    await ask('GET', `${log}?cursor=1000000`)
  }
  const items = itemsOf((await ask('GET', log)).text)
  expect(items[0]).toEqual({ type: 'dropped', cursor: 1000, dropped_items: 1000 })
  expect(items).toHaveLength(keptDecisions + 2)
}, 60_000)
