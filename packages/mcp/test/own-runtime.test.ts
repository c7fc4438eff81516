import { afterEach, beforeEach, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../sdk/test/support/test-service.ts'
import { OwnRuntime } from '../src/index.ts'
import { openClient } from './support/open-client.ts'

let service: TestService
beforeEach(async () => {
  service = await startTestService()
})
afterEach(() => service.close())

/** Opens a client of a session with a runtime of its own. */
async function openOwn() {
  let own: OwnRuntime | undefined
  const opened = await openClient(service, {
    bound: (holt) => {
      own = new OwnRuntime(holt, { name: 'own' })
      return own
    },
  })
  if (own === undefined) throw new Error('the session has no runtime')
  return { ...opened, own }
}

const states = () => [...service.runtimes.values()].map(({ state }) => state)

test('the first use makes the runtime once, and the end deletes it', async () => {
  const { client, text, own } = await openOwn()
  await client.listTools()
  expect(states()).toEqual([])
  await Promise.all([1, 2, 3].map((index) => text('write_file', { path: `/${index}`, content: 'x' })))
  expect(states()).toEqual(['running'])
  expect([...service.runtimes.values()]).toMatchObject([{ name: 'own', on_timeout: 'terminate' }])
  await own[Symbol.asyncDispose]()
  expect(states()).toEqual(['terminated'])
})

test('a runtime that could not be made is tried again by the next call', async () => {
  const { call, text } = await openOwn()
  service.faults.push({ route: 'createRuntime', type: 'refuse', code: 'quota_exceeded' })
  expect((await call('write_file', { path: '/a', content: 'x' })).isError).toBe(true)
  await text('write_file', { path: '/a', content: 'x' })
  expect(states()).toEqual(['running'])
})

test('nothing is made after the end', async () => {
  const { call, own } = await openOwn()
  await own[Symbol.asyncDispose]()
  expect((await call('write_file', { path: '/a', content: 'x' })).isError).toBe(true)
  expect(states()).toEqual([])
})
