import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Checkpoints, Engine, RuntimeId, RuntimeSpec } from '@holt/engine'
import { GuestClient } from '@holt/guest-client'
import { makeId } from '@holt/protocol'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  type EngineUnderTest,
  importImage,
  prepareEngine,
  processOf,
  smallSpec,
  startGuest,
  timeout,
  VERB_TIMEOUT_MS,
} from './support/engine-under-test.ts'
import { straddlingProgram } from './support/straddling-program.ts'
import { missing } from './support/test-machine.ts'

// Programs whose code gVisor has changed, over a checkpoint.

/**
 * A program that lives through a checkpoint writes more than this; one that does not ends in its
 * first round.
 */
const ROUNDS = 5

const reason = process.arch === 'x64' ? await missing('root', 'go', 'runsc') : 'needs x64'
describe.skipIf(reason !== null)(`changed code (${reason ?? 'ready'})`, () => {
  let under: EngineUnderTest
  let engine: Engine
  let checkpoints: Checkpoints
  let small: RuntimeSpec
  const made: RuntimeId[] = []
  beforeAll(async () => {
    under = await prepareEngine()
    await writeFile(join(under.tree, 'bin/straddling'), straddlingProgram(), { mode: 0o755 })
    engine = await under.open()
    checkpoints = engine.ability('checkpoints') as Checkpoints
    small = smallSpec('gvisor', await importImage(engine, under))
  }, VERB_TIMEOUT_MS * 2)
  afterEach(async () => {
    for (const id of made.splice(0)) await engine.remove(id, timeout())
    for (const { checkpointId } of await checkpoints.list()) await checkpoints.remove(checkpointId)
  }, VERB_TIMEOUT_MS)
  afterAll(async () => {
    await engine.close()
    await under[Symbol.asyncDispose]()
  }, VERB_TIMEOUT_MS)

  async function start(): Promise<{ spec: RuntimeSpec; guest: GuestClient }> {
    const spec = { ...small, id: makeId('runtime') }
    made.push(spec.id)
    return { spec, guest: await startGuest(engine, spec) }
  }

  /** Writes a runtime down that goes on. */
  async function write(guest: GuestClient, id: RuntimeId): Promise<string> {
    const checkpointId = makeId('runtime')
    await guest.quiesce(timeout(), { force: true })
    await checkpoints.take(id, checkpointId, timeout(), { leaveRunning: true })
    return checkpointId
  }

  async function connected(id: RuntimeId): Promise<GuestClient> {
    return new GuestClient(await engine.dial(id, timeout()))
  }

  test('a program continues from its checkpoint and after its restore, repeatedly', {
    timeout: VERB_TIMEOUT_MS,
  }, async () => {
    const { spec, guest } = await start()
    const running = processOf(['/bin/straddling'])
    await guest.processes.start(running, timeout())
    await expectMore(guest, running.id)
    const checkpointId = await write(guest, spec.id)
    await expectMore(await connected(spec.id), running.id)

    const restored = { ...spec, id: makeId('runtime'), checkpointId, restoreOnly: true }
    made.push(restored.id)
    await engine.ensure(restored, timeout())
    const child = await connected(restored.id)
    await expectMore(child, running.id)
    await write(child, restored.id)
    await expectMore(await connected(restored.id), running.id)
  })
})

/** Expects that a process writes on. */
async function expectMore(guest: GuestClient, id: string): Promise<void> {
  const { stdout_bytes: before } = await guest.processes.get(id, timeout())
  const written = async () => {
    const { state, signal, stdout_bytes } = await guest.processes.get(id, timeout())
    expect({ state, signal }).toEqual({ state: 'running', signal: null })
    return stdout_bytes - before
  }
  await expect.poll(written, { timeout: VERB_TIMEOUT_MS / 4 }).toBeGreaterThan(ROUNDS)
}
