import { GuestClient } from '@holt/guest-client'
import { expect, test } from 'vitest'
import { BuildError, startApplication, startCommandId } from '../../src/index.ts'
import { fakeHost } from './fake-host.ts'

const signal = () => AbortSignal.timeout(20_000)

/** A seed, and its guest. */
async function seed() {
  const { engine, finishing } = await fakeHost()
  const { image, request } = finishing()
  const { cpu, memoryMiB, diskMiB } = request
  const id = 'rt00000000000000000000'
  const spec = { id, isolation: 'gvisor', imageDigest: image.digest, cpu, memoryMiB, diskMiB, pidsMax: 64 } as const
  await engine.ensure({ ...spec, checkpointId: null }, signal())
  const guest = new GuestClient(await engine.dial(id, signal()))
  await guest.seed({ env: {}, user: 'app', workdir: '/', pids_max: null, network: null }, signal())
  return { engine, id, guest }
}

async function start(startCmd: string, readyCmd: string | null, readyTimeoutMs = 5000) {
  const { guest } = await seed()
  await startApplication(guest, { startCmd, readyCmd, readyTimeoutMs }, { signal: signal() })
  return guest.processes.list(signal())
}

test('is ready when the ready command exits with 0; only the start command is listed afterwards', async () => {
  const processes = await start('sleep', 'true')
  expect(processes.map(({ id, state }) => ({ id, state }))).toEqual([{ id: startCommandId, state: 'running' }])
})

test('is ready when the start command has ended with 0', async () => {
  expect(await start('true', null)).toMatchObject([{ id: startCommandId, state: 'exited', exit_code: 0 }])
})

test('is ready as soon as a server listens', async () => {
  const { guest, engine, id } = await seed()
  const started = startApplication(
    guest,
    { startCmd: 'sleep', readyCmd: null, readyTimeoutMs: 60_000 },
    { signal: signal() },
  )
  await expect.poll(() => engine.guest(id)?.processes.size).toBe(1)
  const server = engine.guest(id)?.ports.listen(8000, () => {})
  await started
  expect(server).toBeUndefined()
})

test('does not start again in a runtime that already runs it', async () => {
  const { guest } = await seed()
  const commands = { startCmd: 'sleep', readyCmd: 'true', readyTimeoutMs: 5000 }
  await startApplication(guest, commands, { signal: signal() })
  const [before] = await guest.processes.list(signal())
  await startApplication(guest, commands, { signal: signal() })
  expect(await guest.processes.list(signal())).toEqual([before])
})

test.each([
  [
    'exits before it is ready',
    'exit 3',
    'false',
    'start_cmd_failed',
    /exited with code 3 before it was ready. It wrote nothing/,
  ],
  [
    'exits while the ready command is content',
    'complain no such port',
    'true',
    'start_cmd_failed',
    /wrote last:\nno such port/,
  ],
  ['exits where there is no ready command', 'exit 1', null, 'start_cmd_failed', /code 1/],
  ['cannot be started', 'nonesuch', 'true', 'start_cmd_failed', /could not be started: .*nonesuch/],
  ['is fine but its ready command is no program', 'sleep', 'nonesuch', 'ready_cmd_failed', /nonesuch/],
  ['is fine but its shell does not find the ready command', 'sleep', 'exit 127', 'ready_cmd_failed', /code 127/],
  ['is fine but its shell may not run the ready command', 'sleep', 'exit 126', 'ready_cmd_failed', /code 126/],
  [
    'never gets ready',
    'sleep',
    'complain not yet',
    'ready_timeout',
    /within 1 seconds.*code 1.*not yet.*Of start_cmd: It wrote nothing/s,
  ],
  ['never gets ready for a ready command that hangs', 'sleep', 'sleep', 'ready_timeout', /took too long/],
] as const)('a start command that %s', async (_, startCmd, readyCmd, code, message) => {
  const readyTimeoutMs = code === 'ready_timeout' ? 1000 : 15_000
  const failed = await start(startCmd, readyCmd, readyTimeoutMs).catch((error: unknown) => error)
  expect(failed).toBeInstanceOf(BuildError)
  expect(failed).toMatchObject({ code, message: expect.stringMatching(message), hint: expect.any(String) })
})

test('a start command that ends with 0 can leave a background process, and a ready command decides', async () => {
  expect(await start('true', 'true')).toMatchObject([{ state: 'exited' }])
  await expect(start('true', 'false', 500)).rejects.toMatchObject({ code: 'ready_timeout' })
})

test('ends on a cancel, and does not stop the command', async () => {
  const { guest } = await seed()
  const cancel = new AbortController()
  const started = startApplication(
    guest,
    { startCmd: 'sleep', readyCmd: 'false', readyTimeoutMs: 60_000 },
    { signal: cancel.signal },
  )
  const ended = expect(started).rejects.toThrow('enough')
  await expect.poll(async () => (await guest.processes.list(signal())).length).toBeGreaterThan(0)
  cancel.abort(new Error('enough'))
  await ended
  expect(await guest.processes.get(startCommandId, signal())).toMatchObject({ state: 'running' })
})
