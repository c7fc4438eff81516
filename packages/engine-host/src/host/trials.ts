import { readFile } from 'node:fs/promises'
import { EngineError, type Isolation } from '@holt/engine'
import { hasCode, replaceFile } from '../files/durable-files.ts'
import type { Log } from '../installation/options.ts'
import type { Lack } from './lack.ts'

/**
 * The time for a boot, in milliseconds. It takes half a second, and many times that on a machine
 * under heavy load.
 */
const TRIAL_TIMEOUT_MS = 45_000

/**
 * The time for which an outcome is valid, in milliseconds. Then a lack is tried again, because the
 * operator may have fixed it.
 */
const OUTCOME_AGE_MS = 30_000

/** Failures that say nothing about the class: the host is busy or its disk is full. */
const UNRELATED: readonly string[] = ['no_space', 'conflict']

/** The last outcome for a class. */
interface Outcome {
  readonly key: string
  readonly at: number
  readonly lack: Lack | null
  /** False if the trial failed for a reason that says nothing about the class. */
  readonly isSure: boolean
}

/** The parts of trials. */
export interface TrialsOptions {
  /** The file that keeps the successes, so that the next start is ready at once. */
  readonly file: string
  readonly log: Log
  /** Boots a runtime of the class and removes it. Rejects with the reason of a failure. */
  readonly boot: (isolation: Isolation, signal: AbortSignal) => Promise<void>
  /** Describes a failure: the reason and the remedy. */
  readonly explain: (isolation: Isolation, error: unknown) => Promise<Lack>
}

/**
 * Decides whether a class of isolation is available: whether a runtime of it has booted on this
 * host. A success is valid as long as its key, which names the versions that it depends on.
 */
export class Trials {
  readonly #options: TrialsOptions
  readonly #outcomes = new Map<Isolation, Outcome>()
  readonly #running = new Map<Isolation, Promise<Lack | null>>()
  /** The failure of each class that the log has. The same one is not written again. */
  readonly #logged = new Map<Isolation, string>()
  readonly #stop = new AbortController()
  #stored: Promise<Map<string, string>> | null = null
  #writes: Promise<unknown> = Promise.resolve()

  constructor(options: TrialsOptions) {
    this.#options = options
  }

  /**
   * Returns the reason why no runtime of the class can be booted, or null if one has been. Callers
   * wait only for the first trial of a key. Later trials run in the background, and callers get the
   * earlier outcome.
   */
  async lackOf(isolation: Isolation, key: string): Promise<Lack | null> {
    const stored = await this.#read()
    const last = this.#outcomes.get(isolation)
    if (last === undefined || last.key !== key) {
      if (last === undefined && stored.get(isolation) === key) return null
      return this.#begin(isolation, key)
    }
    const isOld = performance.now() - last.at > OUTCOME_AGE_MS
    if (isOld && (last.lack !== null || !last.isSure)) void this.#begin(isolation, key)
    return last.lack
  }

  /**
   * Tries a class again after a start of it has failed. Starts may fail often, so the outcome of a
   * trial within the last seconds is returned instead, if there is one.
   */
  async tryAgain(isolation: Isolation, key: string): Promise<Lack | null> {
    const last = this.#outcomes.get(isolation)
    const isFresh = last?.key === key && performance.now() - last.at <= OUTCOME_AGE_MS
    return isFresh ? last.lack : this.#begin(isolation, key)
  }

  /** Stops a running trial and removes everything that it has made. */
  async close(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#running.values())
    await this.#writes
  }

  #begin(isolation: Isolation, key: string): Promise<Lack | null> {
    const running = this.#running.get(isolation)
    if (running !== undefined) return running
    const trial = this.#try(isolation, key).finally(() => this.#running.delete(isolation))
    this.#running.set(isolation, trial)
    return trial
  }

  async #try(isolation: Isolation, key: string): Promise<Lack | null> {
    const { boot, explain, log } = this.#options
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(TRIAL_TIMEOUT_MS)])
    let lack: Lack | null = null
    let isSure = true
    try {
      await boot(isolation, signal)
    } catch (err) {
      if (this.#stop.signal.aborted) return null
      isSure = !(err instanceof EngineError && UNRELATED.includes(err.kind))
      if (isSure) lack = await explain(isolation, err)
      this.#logFailure(isolation, err, lack)
    }
    if (isSure && lack === null && this.#logged.delete(isolation))
      log.info({ isolation }, 'a trial start of a runtime works again')
    this.#outcomes.set(isolation, { key, at: performance.now(), lack, isSure })
    if (isSure) await this.#store(isolation, lack === null ? key : null)
    return lack
  }

  /** Writes a failure to the log once, because trials of a missing class are repeated. */
  #logFailure(isolation: Isolation, err: unknown, lack: Lack | null): void {
    const reason = lack?.reason ?? (err instanceof Error ? err.message : String(err))
    if (this.#logged.get(isolation) === reason) return
    this.#logged.set(isolation, reason)
    this.#options.log.warn({ err, isolation, lack }, 'a trial start of a runtime failed')
  }

  #read(): Promise<Map<string, string>> {
    this.#stored ??= readStored(this.#options.file)
    return this.#stored
  }

  async #store(isolation: Isolation, key: string | null): Promise<void> {
    const stored = await this.#read()
    if ((stored.get(isolation) ?? null) === key) return
    if (key === null) stored.delete(isolation)
    else stored.set(isolation, key)
    const { file, log } = this.#options
    const write = () => replaceFile(file, `${JSON.stringify(Object.fromEntries(stored))}\n`, false)
    this.#writes = this.#writes.then(write).catch((err: unknown) => {
      // The next start tries the class once more.
      log.warn({ err }, 'the outcome of a trial start could not be written')
    })
    await this.#writes
  }
}

/**
 * Reads the stored successes. An absent or damaged file holds none: the classes are tried again.
 */
async function readStored(file: string): Promise<Map<string, string>> {
  try {
    const stored: unknown = JSON.parse(await readFile(file, 'utf8'))
    const entries = typeof stored === 'object' && stored !== null ? Object.entries(stored) : []
    return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
  } catch (error) {
    if (error instanceof SyntaxError || hasCode(error, 'ENOENT', 'EISDIR')) return new Map()
    throw error
  }
}
