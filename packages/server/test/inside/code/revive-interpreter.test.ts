import { startCommandId } from '@holt/builder'
import { GuestClient, type GuestProcess } from '@holt/guest-client'
import { expect, test } from 'vitest'
import { giveBridge, startCodeServer } from '../../support/fake-bridge.ts'
import { tamper } from '../../support/test-store.ts'

const signal = () => AbortSignal.timeout(20_000)

/**
 * Starts a server with a runtime whose start command is `sleep`, ends the bridge, and ends the
 * command as `end` says.
 */
async function startKilled(end: (guest: GuestClient) => Promise<unknown>, startCmd: string | null = 'sleep') {
  const server = await startCodeServer()
  const commands = { startCmd, readyCmd: null, onRestore: null }
  await tamper(server.stateDir, `UPDATE runtimes SET source_json = '${JSON.stringify({ env: {}, commands })}'`)
  const guest = new GuestClient(await server.engine.dial(server.id, signal()))
  await end(guest)
  server.endBridge()
  const run = () => server.ask('POST', `${server.contexts}/run`, { json: { code: 'print back' } })
  const started = async () => (await guest.processes.list(signal())).filter(({ id }) => id !== startCommandId)
  return { ...server, run, started }
}

const start = (guest: GuestClient, command: string) =>
  guest.processes.start(
    {
      ...{ id: startCommandId, command, argv: null, cwd: null, env: null, user: null, stdin: 'none' },
      ...{ stdin_data: null, timeout_ms: 0, ring_bytes: null, pty: null, await_reader: false, background: true },
    },
    signal(),
  )

async function startAndKill(guest: GuestClient): Promise<void> {
  await start(guest, 'sleep')
  await guest.processes.signal(startCommandId, 'SIGKILL', signal())
  const isOver = async () => ((await guest.processes.get(startCommandId, signal())) as GuestProcess).state
  await expect.poll(isOver).toBe('exited')
}

test('an interpreter whose start command was killed is started again for the next run', async () => {
  const { run, started, engine, id } = await startKilled(startAndKill)
  const answer = run()
  await expect.poll(async () => (await started()).map(({ state }) => state)).toEqual(['running'])
  giveBridge(engine, id)
  expect(await answer).toMatchObject({ status: 200, json: { status: 'ok', stdout: 'back\n' } })
  expect(await run()).toMatchObject({ status: 200 })
  expect(await started()).toHaveLength(1)
})

test.each<[string, Parameters<typeof startKilled>]>([
  ['has no start command', [async () => {}, null]],
  ['forgot its start command', [async () => {}]],
  ['has a start command that runs', [(guest) => start(guest, 'sleep')]],
  ['has a start command that ended by itself', [(guest) => start(guest, 'true')]],
])('nothing is started in a runtime that %s', async (_, [end, startCmd]) => {
  const { run, started } = await startKilled(end, startCmd)
  expect(await run()).toMatchObject({ status: 409, json: { error: { code: 'code_interpreter_missing' } } })
  expect(await started()).toEqual([])
})
