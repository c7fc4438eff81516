import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { expect, onTestFinished, test } from 'vitest'
import { startTestServer } from '../../support/start-test-server.ts'
import { onPostgres } from '../../support/test-store.ts'

const runtimes = '/v1/agents/runtime'
const snapshots = '/v1/agents/snapshot'

/** Long enough for an answer that waits for nothing. */
const answerMs = 300

/**
 * Between `hold` and `release` no `fdatasync` of this process ends, by which stores that were
 * opened since make SQLite's log durable.
 */
function steeredSyncs() {
  const { fdatasync } = fs
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let held: Promise<void> = Promise.resolve()
  const late = (file: number, done: fs.NoParamCallback) => void held.then(() => fdatasync(file, done))
  fs.fdatasync = Object.assign(late, { __promisify__: fdatasync.__promisify__ })
  syncBuiltinESMExports()
  onTestFinished(() => {
    fs.fdatasync = fdatasync
    syncBuiltinESMExports()
  })
  const hold = () => {
    held = released
  }
  return { hold, release }
}

/**
 * An engine that says that a snapshot's files or its memory are durable only when `release` is
 * called.
 */
function heldEngine() {
  const engine = new FakeEngine()
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const late =
    <Args extends readonly unknown[], Result>(write: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      const result = await write(...args)
      reach()
      await held
      return result
    }
  const hold = () => {
    const [images, checkpoints] = [engine.ability('images'), engine.ability('checkpoints')]
    if (images === null || checkpoints === null) throw new Error('the fake has both')
    Object.assign(images, { import: late(images.import) })
    Object.assign(checkpoints, { take: late(checkpoints.take) })
  }
  return { engine, hold, reached, release }
}

const kinds = ['memory', 'filesystem'] as const

/** Asks for a snapshot, and follows what becomes of it. */
async function begin(kind: (typeof kinds)[number]) {
  const { engine, hold, reached, release } = heldEngine()
  const { ask, makeRuntime } = await startTestServer({ engine })
  const id = await makeRuntime()
  hold()
  let answered = false
  const answer = ask('POST', `${runtimes}/${id}/snapshot`, { json: { kind } }).finally(() => {
    answered = true
  })
  await reached
  return {
    answer,
    release,
    isAnswered: () => answered,
    state: async () => (await ask('GET', snapshots)).json.data[0].state,
  }
}

test.each(kinds)('a %s snapshot is not ready before its files are durable', async (kind) => {
  const { answer, release, isAnswered, state } = await begin(kind)
  await sleep(answerMs)
  expect([await state(), isAnswered()]).toEqual(['writing', false])
  release()
  expect((await answer).json).toMatchObject({ kind, state: 'ready' })
})

// PostgreSQL answers a commit when it is durable.
test.skipIf(onPostgres).each(kinds)('a %s snapshot is answered only after its row is durable', async (kind) => {
  const syncs = steeredSyncs()
  const { answer, release, isAnswered, state } = await begin(kind)
  syncs.hold()
  release()
  await expect.poll(state, { timeout: 10_000 }).toBe('ready')
  await sleep(answerMs)
  const early = isAnswered()
  syncs.release() // Also where it fails, so that the server can end.
  expect(early).toBe(false)
  expect((await answer).status).toBe(201)
})
