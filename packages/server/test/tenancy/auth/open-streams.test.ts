import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { OpenStreams } from '../../../src/tenancy/auth/open-streams.ts'

/** A response as far as streams are watched: how much went out, and whether it waits to be read. */
class Response extends EventEmitter {
  readonly socket = { bytesWritten: 0 }
  writableNeedDrain = false
}

function watch(streams: OpenStreams, keyId: string) {
  const response = new Response()
  const cut = vi.fn(() => void response.emit('close'))
  streams.add({ keyId, keyVersion: 1 }, response as unknown as ServerResponse, cut)
  return { response, cut }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }))
afterEach(() => void vi.useRealTimers())

test('a stream is closed within a second after its key is invalid', async () => {
  const valid = new Set(['a 1', 'b 1'])
  const streams = new OpenStreams(async () => valid)
  const [one, other] = [watch(streams, 'a'), watch(streams, 'b')]
  await vi.advanceTimersByTimeAsync(5_000)
  valid.delete('a 1')
  await vi.advanceTimersByTimeAsync(1_000)
  expect([one.cut.mock.calls.length, other.cut.mock.calls.length]).toEqual([1, 0])
})

test('every stream is closed if keys cannot be read', async () => {
  const streams = new OpenStreams(() => Promise.reject(new Error('the disk is gone')))
  const { cut } = watch(streams, 'a')
  await vi.advanceTimersByTimeAsync(1_000)
  expect(cut).toHaveBeenCalledOnce()
})

test('an unread stream is closed; a quiet or slow one is not', async () => {
  const streams = new OpenStreams(async (ids) => new Set(ids.map((id) => `${id} 1`)))
  const [stalled, quiet, slow] = [watch(streams, 'a'), watch(streams, 'a'), watch(streams, 'a')]
  stalled.response.writableNeedDrain = true
  slow.response.writableNeedDrain = true
  for (let minute = 0; minute < 5; minute += 1) {
    slow.response.socket.bytesWritten += 1
    await vi.advanceTimersByTimeAsync(60_000)
  }
  expect([stalled, quiet, slow].map(({ cut }) => cut.mock.calls.length)).toEqual([1, 0, 0])
})

test('no key is checked without an open stream', async () => {
  const validKeys = vi.fn(async (ids: readonly string[]) => new Set(ids))
  const streams = new OpenStreams(validKeys)
  watch(streams, 'a').response.emit('close')
  await vi.advanceTimersByTimeAsync(10_000)
  expect(validKeys).not.toHaveBeenCalled()
})
