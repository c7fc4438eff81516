import { setTimeout as sleep } from 'node:timers/promises'
import { FileInfo, pageOf, Runtime, Snapshot } from '@holt/protocol'
import { expect } from 'vitest'
import { type Answer, call, runtimesPath, success } from '../api.ts'
import { crash, restart, restartWith } from '../crash.ts'
import { sumOf } from '../metrics.ts'
import type { Settings } from '../service-process.ts'
import { createRuntime, TestRuntime } from '../test-runtime.ts'
import { callSnapshot, deleteSnapshots, snapshotsPath } from '../test-snapshots.ts'
import { until } from '../until.ts'
import type { Action, Cut } from './actions.ts'
import { checkRuntime, modelDir } from './check-runtime.ts'
import { bytesOfSeed, type Expected, filesOf, untouched, withEntry } from './expected.ts'
import { settled } from './states.ts'
import { nameOf, useRuntime } from './use-runtime.ts'

/**
 * So many runtimes and snapshots are there at once at the most, so that the machine is not what is
 * tested.
 */
const most = { runtimes: 4, snapshots: 3 }

/** The service as users have it, with pools, as small as `most` is. */
const withPools = { HOLT_POOL_MIN: '2', HOLT_POOL_MAX: '4' }

/** Time to fill a pool on a busy machine. */
const fillTimeoutMs = 60_000

/** A runtime and what it has to hold. */
interface Inhabited {
  readonly runtime: TestRuntime
  expected: Expected
}

/** A snapshot and what is made of it has to hold. */
interface Kept {
  readonly id: string
  readonly expected: Expected
}

type Of<Type extends Action['type']> = Extract<Action, { type: Type }>

/** The real service and the model of it, side by side. */
export class World {
  readonly #runtimes: Inhabited[] = []
  readonly #snapshots: Kept[] = []
  readonly #settings: Settings
  #claims = 0

  private constructor(settings: Settings) {
    this.#settings = settings
  }

  /** Makes the first runtime, which comes out of a pool where there are `pools`. */
  static async begin({ pools }: { readonly pools: boolean }): Promise<World> {
    const world = new World(pools ? withPools : {})
    if (pools) {
      await restartWith(withPools)
      await until(
        'a member waits',
        async () => (await sumOf('holt_pool_members', { state: 'ready' })) > 0,
        fillTimeoutMs,
      )
    }
    const runtime = await createRuntime({ timeout_secs: null })
    expect(await sumOf('holt_pool_hits_total')).toBe(pools ? 1 : 0)
    await inhabit(runtime)
    world.#runtimes.push({ runtime, expected: untouched })
    return world
  }

  /** How many creates a pool had a runtime for, as far as the daemons told that answered them. */
  get claims(): number {
    return this.#claims
  }

  /** Does an action to both; what cannot be done is left out. */
  async apply(action: Action): Promise<void> {
    switch (action.type) {
      case 'crash':
        return this.#crash()
      case 'create':
        return this.#create(action)
      case 'deleteSnapshot':
        return this.#deleteSnapshot(action)
    }
    const one = this.#runtimes[action.runtime % this.#runtimes.length]
    if (one === undefined) return
    switch (action.type) {
      case 'write':
        return this.#write(one, action)
      case 'pause':
        return this.#pause(one, action)
      case 'resume':
        return this.#resume(one, action)
      case 'snapshot':
        return this.#snapshot(one, action)
      case 'fork':
        return this.#fork(one, action)
      case 'deleteRuntime':
        return this.#deleteRuntime(one, action)
      case 'check':
        one.expected = await checkRuntime(one.runtime, one.expected)
        return
      default:
        one.expected = await useRuntime(one.runtime, one.expected, action)
    }
  }

  /** Checks everything, and deletes everything. */
  async end(): Promise<void> {
    for (const one of this.#runtimes) one.expected = await checkRuntime(one.runtime, one.expected)
    await this.clear()
    await this.#countClaims()
    if (this.#settings === withPools) await restartWith({})
  }

  /** Deletes everything. */
  async clear(): Promise<void> {
    await Promise.all(this.#runtimes.map(({ runtime }) => runtime.delete()))
    await deleteSnapshots(...this.#snapshots.map(({ id }) => id))
  }

  async #crash(): Promise<void> {
    const before = await Promise.all(this.#runtimes.map(({ runtime }) => runtime.refresh()))
    await this.#countClaims()
    await crash()
    await restart(this.#settings)
    for (const [index, { runtime }] of this.#runtimes.entries())
      expect(await settled(runtime)).toMatchObject({ state: before[index]?.state })
  }

  async #write(one: Inhabited, { file, seed, bytes, cutMs }: Of<'write'>): Promise<void> {
    const [name, content] = [nameOf(file), bytesOfSeed(seed, bytes)]
    const query = { path: `${modelDir}/${name}` }
    const written = { ...one.expected, files: withEntry(one.expected.files, name, content) }
    const answer = await this.#send(cutMs, () => one.runtime.call('PUT', '/files/content', { query, body: content }))
    if (answer !== null) {
      success(answer, one.expected.files.has(name) ? 200 : 201, FileInfo)
      one.expected = written
      return
    }
    const { status, bytes: there } = await one.runtime.call('GET', '/files/content', { query })
    const old = one.expected.files.get(name)
    // All of the new content or all of the old: nothing else may be there.
    if (status === 200 && there.equals(content)) one.expected = written
    else if (status === 200) expect(old?.equals(there), `${name} is neither old nor new`).toBe(true)
    else expect({ status, old }).toEqual({ status: 404, old: undefined })
  }

  async #pause(one: Inhabited, { busy, cutMs }: Of<'pause'>): Promise<void> {
    const command = busy ? runMeanwhile(one.runtime) : null
    if (busy) await sleep(100)
    const answer = await this.#send(cutMs, () => one.runtime.call('POST', '/pause'))
    if (answer !== null) expect(success(answer, 200, Runtime).state).toBe('paused')
    const { state } = await settled(one.runtime)
    expect(['running', 'paused']).toContain(state)
    if (command === null) return
    await one.runtime.resume()
    await command(cutMs !== null)
  }

  async #resume({ runtime }: Inhabited, { cutMs }: Of<'resume'>): Promise<void> {
    const answer = await this.#send(cutMs, () => runtime.call('POST', '/resume'))
    if (answer !== null) expect(success(answer, 200, Runtime).state).toBe('running')
    expect(['running', 'paused']).toContain((await settled(runtime)).state)
  }

  async #snapshot(one: Inhabited, { kind, busy, cutMs }: Of<'snapshot'>): Promise<void> {
    if (this.#snapshots.length >= most.snapshots) return
    await one.runtime.resume()
    const command = busy ? runMeanwhile(one.runtime) : null
    const expected = kind === 'memory' ? one.expected : filesOf(one.expected)
    const answer = await this.#send(cutMs, () => one.runtime.call('POST', '/snapshot', { json: { kind } }))
    if (answer !== null) this.#snapshots.push({ id: success(answer, 201, Snapshot).snapshot_id, expected })
    else await this.#adoptSnapshots(one, expected)
    expect((await settled(one.runtime)).state).toBe('running')
    await command?.(cutMs !== null)
  }

  /** Adds a snapshot with a lost answer to the model: it is complete, or it failed. */
  async #adoptSnapshots({ runtime }: Inhabited, expected: Expected): Promise<void> {
    const query = { runtime_id: runtime.id }
    const { data } = success(await call('GET', snapshotsPath, { query }), 200, pageOf(Snapshot))
    for (const { snapshot_id, state } of data) {
      if (this.#snapshots.some(({ id }) => id === snapshot_id)) continue
      expect(['ready', 'failed']).toContain(state)
      if (state === 'ready') this.#snapshots.push({ id: snapshot_id, expected })
      else await deleteSnapshots(snapshot_id)
    }
  }

  async #create({ snapshot, cutMs }: Of<'create'>): Promise<void> {
    const kept = snapshot === null ? null : this.#snapshots[snapshot % this.#snapshots.length]
    if (kept === undefined || this.#runtimes.length >= most.runtimes) return
    const metadata = { of: crypto.randomUUID() }
    const json = { metadata, timeout_secs: null, ...(kept === null ? {} : { snapshot: kept.id }) }
    const answer = await this.#send(cutMs, () => call('POST', runtimesPath, { json }))
    const wanted = { state: 'running', snapshot_id: kept?.id ?? null }
    if (answer !== null) expect(success(answer, 201, Runtime)).toMatchObject(wanted)
    const made = await this.#adopt(metadata, kept?.expected ?? untouched)
    if (answer !== null) expect(made, answer.text).toHaveLength(1)
    if (kept === null) for (const runtime of made) await inhabit(runtime)
  }

  async #fork(one: Inhabited, { count, busy, cutMs }: Of<'fork'>): Promise<void> {
    if (this.#runtimes.length + count > most.runtimes) return
    await one.runtime.resume()
    const command = busy ? runMeanwhile(one.runtime) : null
    const metadata = { of: crypto.randomUUID() }
    const json = { count, metadata }
    const answer = await this.#send(cutMs, () => one.runtime.call('POST', '/fork', { json }))
    const made = await this.#adopt(metadata, one.expected)
    if (answer !== null) expect(made, answer.text).toHaveLength(count)
    expect((await settled(one.runtime)).state).toBe('running')
    await command?.(cutMs !== null)
  }

  /**
   * Takes up the runtimes that a create or a fork made, whether or not it was answered; answers
   * those that run.
   */
  async #adopt(metadata: { of: string }, expected: Expected): Promise<readonly TestRuntime[]> {
    const query = { 'metadata.of': metadata.of }
    const { data } = success(await call('GET', runtimesPath, { query }), 200, pageOf(Runtime))
    const found = data.map((one) => new TestRuntime(one))
    const states = await Promise.all(found.map(settled))
    const running = found.filter((_, index) => states[index]?.state === 'running')
    for (const [index, { state }] of states.entries())
      if (state !== 'running') expect(['failed', 'terminated'], found[index]?.id).toContain(state)
    this.#runtimes.push(...running.map((runtime) => ({ runtime, expected })))
    return running
  }

  async #deleteRuntime(one: Inhabited, { cutMs }: Of<'deleteRuntime'>): Promise<void> {
    if (this.#runtimes.length === 1) return
    const answer = await this.#send(cutMs, () => call('DELETE', one.runtime.path))
    if (answer !== null) expect(answer.status, answer.text).toBe(204)
    const { state } = await settled(one.runtime)
    if (answer === null && state !== 'terminated') return // The request was lost before it was written down.
    expect(state).toBe('terminated')
    this.#runtimes.splice(this.#runtimes.indexOf(one), 1)
  }

  async #deleteSnapshot({ snapshot }: Of<'deleteSnapshot'>): Promise<void> {
    if (this.#snapshots.length === 0) return
    const [kept] = this.#snapshots.splice(snapshot % this.#snapshots.length, 1)
    expect((await callSnapshot('DELETE', `${kept?.id}`)).status).toBe(204)
  }

  /**
   * Sends a request, and where `cutMs` says so kills the daemon meanwhile; then the answer is lost,
   * unless it came before.
   */
  async #send(cutMs: Cut, request: () => Promise<Answer>): Promise<Answer | null> {
    if (cutMs === null) return request()
    await this.#countClaims()
    const answer = request().catch(() => null) // The daemon dies while it answers.
    await sleep(cutMs)
    await crash()
    await restart(this.#settings)
    return answer
  }

  /** Adds what the daemon that runs has counted, which it takes with it. */
  async #countClaims(): Promise<void> {
    this.#claims += await sumOf('holt_pool_hits_total')
  }
}

/** Makes the place where the files of the model are. */
async function inhabit(runtime: TestRuntime): Promise<void> {
  await runtime.sh(`mkdir -p ${modelDir}`)
}

/**
 * Runs a command over what happens next; answers what expects that it ran as if nothing had
 * happened, unless its answer may be lost.
 */
function runMeanwhile(runtime: TestRuntime): (mayBeLost: boolean) => Promise<void> {
  const command = 'for n in 1 2 3 4 5 6 7 8; do echo $n; sleep 0.05; done; exit 5'
  const outcome = runtime.run(command).then(
    ({ stdout, exit_code }) => ({ stdout, exit_code }),
    (error: unknown) => error,
  )
  return async (mayBeLost) => {
    const result = await outcome
    if (mayBeLost && result instanceof Error) return
    expect(result).toEqual({ stdout: '1\n2\n3\n4\n5\n6\n7\n8\n', exit_code: 5 })
  }
}
