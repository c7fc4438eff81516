import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Engine, ImageDigest, Isolation, RuntimeSpec } from '@holt/engine'
import { GuestClient, type GuestItem, type StartProcess } from '@holt/guest-client'
import { makeId } from '@holt/protocol'
import { expect } from 'vitest'
import { createHostEngine, type HostEngineOptions, type Log } from '../../src/index.ts'
import { findLeaks } from './leak-check.ts'
import { buildGuest, makeImageTree, tarOf, temporaryDirectory } from './test-machine.ts'

/** The longest one verb may take in a test. */
export const VERB_TIMEOUT_MS = 60_000

/** A real engine over directories of its own, with the real guest and a small image. */
export interface EngineUnderTest extends AsyncDisposable {
  readonly options: HostEngineOptions
  readonly tree: string
  open(): Promise<Engine>
  leaks(): Promise<string[]>
}

/** Log lines of the engine, for tests that say what must be said. */
export interface LogLine {
  readonly level: keyof Log
  readonly message: string
}

/** Prepares an engine; building the guest and the image takes seconds the first time. */
export async function prepareEngine(lines: LogLine[] = []): Promise<EngineUnderTest> {
  const dir = await temporaryDirectory()
  const tree = join(dir.path, 'tree')
  await mkdir(join(dir.path, 'bin'))
  const [guestBinary] = await Promise.all([buildGuest(join(dir.path, 'bin')), makeImageTree(tree)])
  const installationId = `test-${makeId('runtime').slice(0, 10)}`
  const options: HostEngineOptions = {
    stateDir: join(dir.path, 'state'),
    runDir: join(dir.path, 'run'),
    installationId,
    guestBinary,
    spareDisks: 1,
    log: logInto(lines),
  }
  return {
    options,
    tree,
    open: () => createHostEngine(options),
    leaks: () => findLeaks({ ...options, cgroupParent: `/holt-${installationId}` }),
    [Symbol.asyncDispose]: async () => {
      await rm(join(dir.path, 'bin'), { recursive: true, force: true })
      await dir[Symbol.asyncDispose]()
    },
  }
}

/** Puts the test image into an engine. */
export async function importImage(engine: Engine, under: EngineUnderTest): Promise<ImageDigest> {
  const images = engine.ability('images')
  if (images === null) throw new Error('no images')
  return (await images.import(tarOf(under.tree), timeout())).digest
}

/** Puts the test image into an engine as a runtime of another image would export it. */
export async function importDelta(engine: Engine, under: EngineUnderTest, base: ImageDigest): Promise<ImageDigest> {
  const images = engine.ability('images')
  if (images === null) throw new Error('no images')
  return (await images.import(tarOf(under.tree), timeout(), { base })).digest
}

/** A spec of a small runtime. */
export function smallSpec(
  isolation: Isolation,
  imageDigest: ImageDigest,
  change: Partial<RuntimeSpec> = {},
): RuntimeSpec {
  const id = makeId('runtime')
  return {
    id,
    isolation,
    imageDigest,
    cpu: 1,
    memoryMiB: 256,
    diskMiB: 64,
    pidsMax: 128,
    checkpointId: null,
    ...change,
  }
}

/** Makes a runtime and binds its guest. */
export async function startGuest(engine: Engine, spec: RuntimeSpec): Promise<GuestClient> {
  await engine.ensure(spec, timeout())
  const guest = new GuestClient(await engine.dial(spec.id, timeout()))
  await guest.bind(
    {
      runtime_id: spec.id,
      hostname: spec.id,
      machine_id: '0'.repeat(32),
      env: { PATH: '/bin' },
      user: 'root',
      workdir: '/',
      time_unix_ms: Date.now(),
      entropy: Buffer.alloc(64, 1).toString('base64'),
      pids_max: spec.isolation === 'gvisor' ? spec.pidsMax : null,
      set_clock: false,
      set_hostname: false,
    },
    timeout(),
  )
  return guest
}

/**
 * Does something with a small runtime of an engine of its own, and expects that nothing is left of
 * either. `prepare` adds to the image's tree first.
 */
export async function withRuntime(
  isolation: Isolation,
  work: (parts: {
    readonly engine: Engine
    readonly id: RuntimeSpec['id']
    readonly guest: GuestClient
  }) => Promise<void>,
  prepare: (tree: string) => Promise<unknown> = async () => {},
): Promise<void> {
  await using under = await prepareEngine()
  await prepare(under.tree)
  const engine = await under.open()
  const spec = smallSpec(isolation, await importImage(engine, under))
  await work({ engine, id: spec.id, guest: await startGuest(engine, spec) })
  await engine.remove(spec.id, timeout())
  await engine.close()
  expect(await under.leaks()).toEqual([])
}

/** How a command ended. */
export interface Outcome {
  readonly output: string
  readonly exitCode: number | null
}

/** A command of root's, without input or an end to its time. */
export function processOf(argv: readonly string[]): StartProcess {
  return {
    id: makeId('command'),
    command: null,
    argv,
    cwd: '/',
    env: null,
    user: 'root',
    stdin: 'none',
    stdin_data: null,
    timeout_ms: 0,
    ring_bytes: null,
    pty: null,
    await_reader: false,
  }
}

/** Runs a command to its end. */
export async function runCommand(guest: GuestClient, ...argv: readonly string[]): Promise<Outcome> {
  const items: GuestItem[] = await Array.fromAsync(await guest.processes.run(processOf(argv), timeout()))
  const parts = items.flatMap((item) =>
    item.type === 'stdout' || item.type === 'stderr' ? [Buffer.from(item.data, 'base64')] : [],
  )
  const exit = items.find((item) => item.type === 'exit')
  return { output: Buffer.concat(parts).toString(), exitCode: exit?.exit_code ?? null }
}

/** The standard output among the items of a command. */
export function textOf(items: readonly GuestItem[]): string {
  return items.map((item) => (item.type === 'stdout' ? Buffer.from(item.data, 'base64').toString() : '')).join('')
}

/** A signal for one verb. */
export function timeout(): AbortSignal {
  return AbortSignal.timeout(VERB_TIMEOUT_MS)
}

function logInto(lines: LogLine[]): Log {
  const at = (level: keyof Log) => (_: object, message: string) => {
    lines.push({ level, message })
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
