import { afterEach, beforeEach, expect, test } from 'vitest'
import type { NewRuntime } from '../../sdk/src/index.ts'
import { startTestService, type TestService } from '../../sdk/test/support/test-service.ts'
import { OwnRuntime } from '../src/index.ts'
import { openClient } from './support/open-client.ts'

let service: TestService
beforeEach(async () => {
  service = await startTestService()
})
afterEach(() => service.close())

/** Opens a client of a session with a runtime of its own. */
async function openOwn(body: NewRuntime = {}, leaseSecs?: number) {
  let own: OwnRuntime | undefined
  const opened = await openClient(service, {
    bound: (holt) => {
      own = new OwnRuntime(holt, { name: 'own', ...body }, leaseSecs)
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

test('the deadline is renewed while the session lives, so that it ends the runtime of a killed one', async () => {
  const { text, own } = await openOwn({}, 1)
  await text('write_file', { path: '/a', content: 'x' })
  expect([...service.runtimes.values()]).toMatchObject([{ on_timeout: 'terminate', timeout_secs: 1 }])
  await expect.poll(() => service.count('updateRuntime')).toBeGreaterThan(1)
  await own[Symbol.asyncDispose]()
  const renewed = service.count('updateRuntime')
  await new Promise((resolve) => setTimeout(resolve, 1000))
  expect(service.count('updateRuntime')).toBe(renewed)
})

test('a deadline of the person is kept', async () => {
  const { text } = await openOwn({ timeout_secs: 600 }, 0.1)
  await text('write_file', { path: '/a', content: 'x' })
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(service.count('updateRuntime')).toBe(0)
  expect([...service.runtimes.values()]).toMatchObject([{ timeout_secs: 600 }])
})
