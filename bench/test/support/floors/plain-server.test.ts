import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PlainServer } from '../../../support/floors/plain-server.ts'

const { signal } = new AbortController()
let dir: string
let server: PlainServer

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holt-plain-'))
  server = await PlainServer.start(dir, signal)
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  const left = await readdir(dir)
  await rm(dir, { recursive: true, force: true })
  expect(left).toEqual([])
})

it('repeats its given answers, and is empty for other paths', async () => {
  const headers = { 'content-type': 'text/plain', 'x-request-id': 'rq1' }
  await server.answer({ '/a?b=c': { headers, body: 'é' } }, signal)
  const given = await fetch(`${server.url}/a?b=c`)
  expect(await given.text()).toBe('é')
  expect(given.headers.get('x-request-id')).toBe('rq1')
  expect(given.headers.get('content-length')).toBe('2')
  expect(await (await fetch(server.url)).text()).toBe('{}')
})

it('has written 4 KiB durably before it answers', async () => {
  await Promise.all(Array.from({ length: 20 }, () => server.writeDurably(signal)))
  await server.writeDurably(signal)
  const [own = ''] = await readdir(dir)
  expect((await stat(join(dir, own, 'log'))).size).toBe(21 * 4096)
})
