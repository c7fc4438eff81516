import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { WebSocket } from 'ws'
import { watchPeer } from '../../../src/inside/attach/watch-peer.ts'

/** A connection as far as it is watched. */
class Peer extends EventEmitter {
  isPaused = false
  readonly ping = vi.fn()
}

function watch() {
  const peer = new Peer()
  const lost = vi.fn()
  watchPeer(peer as unknown as WebSocket, lost, 1_000)
  return { peer, lost }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

test('a peer that answers or sends anything is kept', async () => {
  const { peer, lost } = watch()
  for (const sign of ['pong', 'message', 'ping']) {
    await vi.advanceTimersByTimeAsync(1_000)
    peer.emit(sign)
  }
  await vi.advanceTimersByTimeAsync(1_000)
  expect([lost.mock.calls.length, peer.ping.mock.calls.length]).toEqual([0, 4])
})

test('a peer that sends nothing between two pings is closed', async () => {
  const { lost } = watch()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(lost).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(lost).toHaveBeenCalled()
})

test('a peer whose input is paused is not closed', async () => {
  const { peer, lost } = watch()
  peer.isPaused = true
  await vi.advanceTimersByTimeAsync(10_000)
  expect(lost).not.toHaveBeenCalled()
  peer.isPaused = false
  await vi.advanceTimersByTimeAsync(1_000)
  expect(lost).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(lost).toHaveBeenCalled()
})

test('no ping is sent after the end', async () => {
  const { peer, lost } = watch()
  peer.emit('close')
  await vi.advanceTimersByTimeAsync(10_000)
  expect([lost.mock.calls.length, peer.ping.mock.calls.length]).toEqual([0, 0])
})
