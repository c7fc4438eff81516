import { inspect } from 'node:util'
import { onRestoreId, startCommandId } from '@holt/builder'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { GuestClient } from '@holt/guest-client'
import { HoltError, makeId } from '@holt/protocol'
import { expect, test } from 'vitest'
import {
  isStartFailure,
  startCommands,
  type TemplateCommands,
} from '../../../src/resources/templates/template-commands.ts'

const signal = () => AbortSignal.timeout(20_000)
const nothing: TemplateCommands = { startCmd: null, readyCmd: null, onRestore: null }

/** A bound runtime of a fake engine, restored or booted. */
async function bound({ restored = false } = {}) {
  const engine = new FakeEngine()
  async function* tree() {
    yield Buffer.from('a tree')
  }
  const image = await engine.ability('images')?.import(tree(), signal())
  if (image === undefined) throw new Error('no images')
  const spec = {
    isolation: 'gvisor',
    imageDigest: image.digest,
    cpu: 1,
    memoryMiB: 64,
    diskMiB: 64,
    pidsMax: 64,
  } as const
  const seedId = makeId('runtime')
  await engine.ensure({ ...spec, id: seedId, checkpointId: null }, signal())
  await engine.ability('checkpoints')?.take(seedId, 'cp1', signal())
  const runtimeId = makeId('runtime')
  await engine.ensure({ ...spec, id: runtimeId, checkpointId: restored ? 'cp1' : null }, signal())
  const guest = new GuestClient(await engine.dial(runtimeId, signal()))
  const identity = { runtime_id: runtimeId, hostname: 'h', machine_id: '0'.repeat(32), entropy: '', time_unix_ms: 1 }
  const flags = { pids_max: null, set_clock: false, set_hostname: false }
  await guest.bind({ ...identity, ...flags, env: { OF: 'runtime' }, user: 'user', workdir: '/' }, signal())
  const secretValues = async () => ['hunter2']
  const start = async (commands: Partial<TemplateCommands>) => {
    await startCommands({ engine }, { ...nothing, ...commands }, { runtimeId, guest, signal: signal(), secretValues })
    return (await guest.processes.list(signal())).map(({ id, state, user }) => ({ id, state, user }))
  }
  return { start, guest }
}

test('a template without commands runs none', async () => {
  const { start } = await bound()
  expect(await start({})).toEqual([])
})

test('a booted runtime starts the application and then runs on_restore', async () => {
  const { start } = await bound()
  const processes = await start({ startCmd: 'sleep', readyCmd: 'true', onRestore: 'echo done' })
  expect(processes).toEqual([
    { id: onRestoreId, state: 'exited', user: 'user' },
    { id: startCommandId, state: 'running', user: 'user' },
  ])
})

test('a restored runtime runs on_restore and starts nothing', async () => {
  const { start } = await bound({ restored: true })
  expect(await start({ startCmd: 'sleep', readyCmd: 'false', onRestore: 'true' })).toMatchObject([{ id: onRestoreId }])
})

test('on_restore runs at every restore', async () => {
  const { start } = await bound({ restored: true })
  await start({ onRestore: 'true' })
  const ended = { state: 'exited', user: 'user' }
  expect(await start({ onRestore: 'true' })).toEqual([
    { id: expect.stringMatching(/^cm/), ...ended },
    { id: onRestoreId, ...ended },
  ])
})

test('on_restore has the environment of the runtime', async () => {
  const { start, guest } = await bound()
  await start({ onRestore: 'printenv OF' })
  const items = await Array.fromAsync(
    await guest.processes.readOutput(onRestoreId, { cursor: 0, follow: false }, signal()),
  )
  expect(items.find(({ type }) => type === 'stdout')).toMatchObject({
    data: Buffer.from('runtime\n').toString('base64'),
  })
})

test.each([
  [{ startCmd: 'exit 3', readyCmd: 'false' }, 'start_cmd_failed', /code 3/],
  [{ startCmd: 'nonesuch' }, 'start_cmd_failed', /could not be started/],
  [{ startCmd: 'sleep', readyCmd: 'exit 127' }, 'ready_cmd_failed', /code 127/],
  [
    { onRestore: 'complain no disk' },
    'on_restore_failed',
    /on_restore of the template exited with code 1. It wrote last:\nno disk/,
  ],
  [{ onRestore: 'nonesuch' }, 'on_restore_failed', /could not be started/],
] as const)('%o fails as %s', async (commands, code, message) => {
  const { start } = await bound()
  const failed = await start(commands).catch((error: unknown) => error)
  expect(failed).toBeInstanceOf(HoltError)
  expect(failed).toMatchObject({ code, status: 422, message: expect.stringMatching(message) })
  expect(isStartFailure(failed as HoltError)).toBe(true)
})

test('a start command that is killed while the ready command hangs ends the wait', async () => {
  const { start, guest } = await bound()
  const failed = start({ startCmd: 'sleep', readyCmd: 'sleep' }).catch((error: unknown) => error)
  await expect.poll(async () => (await guest.processes.list(signal())).length).toBe(2)
  const [, started] = await guest.processes.list(signal())
  expect(started?.id).toBe(startCommandId)
  await guest.processes.signal(startCommandId, 'SIGTERM', signal())
  expect(await failed).toMatchObject({ code: 'start_cmd_failed', message: expect.stringMatching(/SIGTERM/) })
})

test('the error does not quote a secret that a command printed', async () => {
  const { start } = await bound()
  const failed = await start({ onRestore: 'complain wrong password hunter2' }).catch((error: unknown) => error)
  expect(failed).toMatchObject({ code: 'on_restore_failed', message: expect.stringMatching(/wrong password \*\*\*$/) })
  expect(inspect(failed, { depth: 5 })).not.toContain('hunter2')
})
