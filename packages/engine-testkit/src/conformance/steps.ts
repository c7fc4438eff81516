import { randomBytes } from 'node:crypto'
import { type Engine, EngineError, type Observation, type RuntimeSpec } from '@holt/engine'
import { type BindRequest, GuestClient, type GuestItem } from '@holt/guest-client'
import { makeId } from '@holt/protocol'
import type { ConformanceSubject } from './run-conformance.ts'

/** The engine and the tools of a conformance test. */
export interface Steps {
  readonly engine: Engine
  readonly subject: ConformanceSubject
  /** Returns a new spec. The runtime is removed after the test. */
  readonly spec: () => RuntimeSpec
  /** Returns a signal that ends one verb. */
  readonly signal: () => AbortSignal
  /** Opens the engine again after `close`. */
  readonly reopen: () => Promise<Engine>
  /** Returns another engine, with images and checkpoints of its own. */
  readonly other: () => Promise<Engine>
}

/** Dials and waits until the guest answers. */
export async function connect(engine: Engine, id: string, signal: AbortSignal): Promise<GuestClient> {
  return new GuestClient(await engine.dial(id, signal))
}

/** Returns an identity for a runtime. */
export function bindRequest(id: string): BindRequest {
  return {
    runtime_id: id,
    hostname: id,
    machine_id: randomBytes(16).toString('hex'),
    env: { PATH: '/bin:/usr/bin' },
    user: 'root',
    workdir: '/',
    time_unix_ms: Date.now(),
    entropy: randomBytes(64).toString('base64'),
    pids_max: null,
    set_clock: false,
    set_hostname: false,
  }
}

/** Makes a runtime and binds its guest. */
export async function bound(engine: Engine, spec: RuntimeSpec, signal: () => AbortSignal): Promise<GuestClient> {
  await engine.ensure(spec, signal())
  const guest = await connect(engine, spec.id, signal())
  await guest.bind(bindRequest(spec.id), signal())
  return guest
}

/** Returns a command of root without input and without a time limit. */
export function process(argv: readonly string[]) {
  const id = makeId('command')
  return {
    id,
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
  } as const
}

/** Reads a stream to its end. */
export async function collect(items: AsyncIterable<GuestItem>): Promise<GuestItem[]> {
  return Array.fromAsync(items)
}

/** Returns the kind of the `EngineError` with which a verb fails. */
export async function kindOf(verb: Promise<unknown>): Promise<string> {
  try {
    await verb
    return 'no error'
  } catch (error) {
    if (error instanceof EngineError) return error.kind
    throw error
  }
}

/** Returns the observations up to and including the first that matches. */
export async function nextObservation(
  observations: AsyncIterator<Observation>,
  matches: (item: Observation) => boolean,
): Promise<Observation[]> {
  const seen: Observation[] = []
  for (;;) {
    const { value, done } = await observations.next()
    if (done === true) throw new Error('the observations ended')
    seen.push(value)
    if (matches(value)) return seen
  }
}
