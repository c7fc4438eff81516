import { Fact } from '@holt/testkit'
import { runtimesPath } from '../../../e2e/support/api.ts'
import { buildsPath } from '../../../e2e/support/test-build.ts'
import { snapshotsPath } from '../../../e2e/support/test-snapshots.ts'
import type { Chance } from '../chance.ts'
import type { Ask } from './ask.ts'
import { eventKey, type KnownRuntime, knownFiles, type Ledger } from './ledger.ts'
import { type Json, keyed, Requests } from './requests.ts'
import { SettingsWorker } from './settings-worker.ts'
import { UsingWorker } from './using-worker.ts'

/**
 * The largest numbers of runtimes and snapshots of one worker. The children of a fork may exceed
 * them.
 */
const most = { runtimes: 2, snapshots: 2 }
const children = 2

/** The average number of steps per build. A build keeps the machine busy for seconds. */
const stepsPerBuild = 80

/** The possible steps. A step that is listed more often is more likely. */
const steps = [
  ...Array<'use'>(18).fill('use'),
  ...Array<'snapshot'>(2).fill('snapshot'),
  ...Array<'delete'>(2).fill('delete'),
  ...Array<'settings'>(7).fill('settings'),
  'fork',
] as const

/**
 * A client that makes random changes to its own objects, one after another, and records the
 * acknowledged ones.
 */
export class Worker {
  readonly name: string
  readonly #ask: Ask
  readonly #ledger: Ledger
  readonly #chance: Chance
  readonly #requests: Requests
  readonly #settings: SettingsWorker
  readonly #using: UsingWorker

  constructor(name: string, { ask, ledger, chance }: { ask: Ask; ledger: Ledger; chance: Chance }) {
    this.name = name
    this.#ask = ask
    this.#ledger = ledger
    this.#chance = chance
    this.#requests = new Requests(ledger, chance)
    const parts = { ask, ledger, chance, requests: this.#requests }
    this.#settings = new SettingsWorker(name, parts)
    this.#using = new UsingWorker(name, parts)
  }

  /** Returns the answers that a client does not have to expect. */
  get surprises(): readonly string[] {
    return this.#requests.surprises
  }

  /** Returns true if an answer was lost. */
  get isLost(): boolean {
    return this.#requests.isLost
  }

  /** Works until the daemon is gone or `stop` aborts. */
  async work(stop: AbortSignal): Promise<void> {
    while (!stop.aborted && !this.isLost) await this.#step()
  }

  /** Determines the result of the request whose answer was lost. */
  recover(): Promise<void> {
    return this.#requests.recover()
  }

  async #step(): Promise<void> {
    const runtimes = this.#runtimes()
    if (this.#chance.below(stepsPerBuild) === 0) return this.#build()
    if (runtimes.length === 0 || (runtimes.length < most.runtimes && this.#chance.below(4) === 0)) return this.#create()
    const runtime = this.#chance.pick(runtimes)
    switch (this.#chance.pick(steps)) {
      case 'use':
        return this.#using.step(runtime)
      case 'snapshot':
        return this.#snapshot(runtime)
      case 'delete':
        return this.#delete(runtime)
      case 'fork':
        return runtimes.length < most.runtimes ? this.#fork(runtime) : this.#delete(runtime)
      case 'settings':
        return this.#settings.step()
    }
  }

  /** Returns the worker's runtimes that certainly exist. */
  #runtimes(): readonly KnownRuntime[] {
    return [...this.#ledger.runtimes.values()].filter(
      ({ worker, state }) => worker === this.name && !state.mayBe('terminated'),
    )
  }

  #create(): Promise<void> {
    const snapshots = this.#snapshots()
    const snapshot = snapshots.length > 0 && this.#chance.below(3) === 0 ? this.#chance.pick(snapshots) : null
    const source = snapshot === null ? { isolation: 'gvisor' } : { snapshot: snapshot.id }
    const send = keyed(this.#ask, runtimesPath, { ...source, timeout_secs: null, metadata: { worker: this.name } })
    return this.#requests.make({
      send,
      acknowledge: ({ runtime_id: id }) => this.#ledger.addRuntime(id, this.name, snapshot?.files),
      gaveUp: () => {
        this.#ledger.failures.runtimes += 1
      },
      mustBeKnown: true,
    })
  }

  #fork(runtime: KnownRuntime): Promise<void> {
    const files = knownFiles(runtime)
    let sent = 0
    const acknowledge = ({ data }: Json) => {
      runtime.state.is('running')
      // The event follows the children. If the daemon is killed in between, only the children have
      // events.
      if (sent === 1) this.#ledger.expectEvent(eventKey('runtime.forked', runtime.id))
      for (const { runtime: child, error } of data) {
        if (child !== null) this.#ledger.addRuntime(child.runtime_id, this.name, files)
        else this.#ledger.failures.runtimes += 1
        if (error !== null && !['unavailable', 'capacity_exhausted'].includes(error.code))
          this.#requests.surprises.push(JSON.stringify(error))
      }
    }
    const send = keyed(this.#ask, `${runtimesPath}/${runtime.id}/fork`, {
      count: children,
      metadata: { worker: this.name },
    })
    return this.#requests.make({
      send,
      begin: () => {
        sent += 1
      },
      acknowledge,
      refused: whilePaused(runtime),
      mustBeKnown: true,
    })
  }

  #delete({ id, state }: KnownRuntime): Promise<void> {
    return this.#requests.make({
      send: () => this.#ask('DELETE', `${runtimesPath}/${id}`),
      begin: () => state.mayBecome(() => 'terminated'),
      acknowledge: () => state.is('terminated'),
      expected: [204],
      mustBeKnown: false,
    })
  }

  #snapshot(runtime: KnownRuntime): Promise<void> {
    const [oldest, ...others] = this.#snapshots()
    if (oldest !== undefined && others.length + 1 >= most.snapshots) return this.#deleteSnapshot(oldest)
    const files = knownFiles(runtime)
    const kind = this.#chance.pick(['memory', 'filesystem'])
    return this.#requests.make({
      send: keyed(this.#ask, `${runtimesPath}/${runtime.id}/snapshot`, { kind }),
      acknowledge: ({ snapshot_id: id }) => {
        const { snapshots } = this.#ledger
        runtime.state.is('running')
        if (snapshots.has(id)) throw new Error(`${id} was taken twice`)
        snapshots.set(id, { id, worker: this.name, state: new Fact(id, 'ready'), files })
        this.#ledger.expectEvent(eventKey('snapshot.ready', id))
      },
      refused: whilePaused(runtime),
      gaveUp: () => {
        this.#ledger.failures.snapshots += 1
      },
      mustBeKnown: true,
    })
  }

  /** Returns the worker's snapshots that certainly exist, the oldest first. */
  #snapshots() {
    return [...this.#ledger.snapshots.values()].filter(
      ({ worker, state }) => worker === this.name && state.isKnown('ready'),
    )
  }

  #deleteSnapshot({ id, state }: { id: string; state: Fact<'ready' | 'deleted'> }): Promise<void> {
    return this.#requests.make({
      send: () => this.#ask('DELETE', `${snapshotsPath}/${id}`),
      begin: () => state.mayBecome(() => 'deleted'),
      acknowledge: () => state.is('deleted'),
      expected: [204],
      expectedAgain: [404],
      mustBeKnown: false,
    })
  }

  /** Starts a build. Equal builds that run at the same time are one. */
  #build(): Promise<void> {
    const json = {
      name: this.name,
      from_template: 'base-small',
      steps: [{ run: `echo ${crypto.randomUUID()} > /workspace/built` }],
    }
    return this.#requests.make({
      send: keyed(this.#ask, buildsPath, json),
      acknowledge: ({ build_id: id }) => {
        if (this.#ledger.builds.has(id)) return
        const fact = new Fact<'under way' | 'ready' | 'failed'>(id, 'under way')
        this.#ledger.builds.set(id, fact)
        this.#ledger.expectEvent(eventKey('build.queued', id))
      },
      expected: [202],
      mustBeKnown: true,
    })
  }
}

/** Returns a function that returns true for the refusal of a runtime that may be paused. */
function whilePaused({ state }: KnownRuntime): (code: string) => boolean {
  return (code) => code === 'runtime_paused' && state.mayBe('paused')
}
