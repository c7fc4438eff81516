import {
  type ArtifactDescription,
  type ArtifactRef,
  bytesOf,
  descriptionDigest,
  type Engine,
  EngineError,
  type EngineErrorKind,
  type Transfer,
} from '@holt/engine'
import type { Log } from '../../foundation/log.ts'
import { type ArtifactSource, ArtifactUnavailable } from './artifact-source.ts'
import { FailoverReader, type FetchTimes, fetchTimes } from './failover-reader.ts'
import type { FetchMetrics } from './fetch-metrics.ts'
import { isHere } from './is-here.ts'
import { JoinedFetches } from './joined-fetches.ts'

/** The failures for which wrong bytes or a wrong description can be the reason. */
const perhapsLies: readonly EngineErrorKind[] = ['damaged', 'invalid', 'incompatible', 'no_space']

/** The time for a description, in milliseconds. */
const describeMs = 5_000

/** The parts of a fetcher. */
export interface FetcherOptions {
  readonly engine: Pick<Engine, 'ability'>
  /** Returns the sources of an artifact in the order in which they are asked: peers, then store. */
  readonly sourcesOf: (ref: ArtifactRef, near: string | null) => readonly ArtifactSource[]
  readonly metrics: FetchMetrics
  readonly log: Log
  readonly times?: FetchTimes
}

/** The facts about an artifact that its caller knows. */
export interface FetchHints {
  /**
   * The `descriptionDigest` of the artifact. Without it, the description of a checkpoint is
   * believed from the object store alone.
   */
  readonly digest?: string | null
  /** The id of a host that probably has the artifact. */
  readonly near?: string | null
}

/** The artifact to describe. */
interface Wanted {
  readonly ref: ArtifactRef
  readonly digest: string | null
  readonly sources: readonly ArtifactSource[]
}

/** A description, and the source that gave it. */
interface Described {
  readonly description: ArtifactDescription
  readonly by: ArtifactSource
  /** True if it has the known digest, or is that of the object store. */
  readonly isBelieved: boolean
}

/** A failure that sources may have caused by wrong bytes or a wrong description. */
interface Spoiled {
  readonly error: unknown
  /** The sources that can be the reason. */
  readonly culprits: ReadonlySet<ArtifactSource>
}

/**
 * Brings artifacts to this host: from its disk, from other hosts, or from the object store. No
 * source is believed: the engine compares the digests, and the next source is asked after a wrong
 * one.
 */
export class ArtifactFetcher {
  readonly #options: FetcherOptions
  readonly #fetches = new JoinedFetches()

  constructor(options: FetcherOptions) {
    this.#options = options
  }

  /**
   * Resolves when an artifact is on this host. Concurrent calls for one artifact share one fetch.
   * Throws `ArtifactUnavailable` if no source has it or can be reached. Throws `EngineError` kind
   * `damaged` if all sources have wrong bytes, and `no_space` or `incompatible` as the engine does.
   */
  async fetch(ref: ArtifactRef, hints: FetchHints, signal: AbortSignal): Promise<void> {
    const transfer = this.#options.engine.ability('transfer')
    if (transfer === null) throw new ArtifactUnavailable('the engine receives no artifacts')
    if (await isHere(this.#options.engine, ref)) return
    await this.#fetches.run(`${ref.kind} ${ref.id}`, (stop) => this.#measured(transfer, ref, hints, stop), signal)
  }

  async #measured(transfer: Transfer, ref: ArtifactRef, hints: FetchHints, signal: AbortSignal): Promise<void> {
    const { metrics, log } = this.#options
    const begunAt = performance.now()
    const facts = { artifact_kind: ref.kind, artifact_id: ref.id }
    const end = (outcome: 'fetched' | 'failed' | 'left') => {
      const seconds = (performance.now() - begunAt) / 1000
      metrics.noteEnd(ref.kind, outcome, seconds)
      return { ...facts, outcome, duration_ms: Math.round(seconds * 1000) }
    }
    try {
      await this.#fetch(transfer, ref, hints, signal)
      log.info(end('fetched'), 'an artifact was fetched')
    } catch (err) {
      if (signal.aborted) end('left')
      else log.warn({ ...end('failed'), err }, 'an artifact could not be fetched')
      throw err
    }
  }

  /**
   * Reads from all sources together, in their order. Wrong bytes may come from any of those that
   * were read, and a wrong description spoils the bytes of all. So each source is then tried alone.
   */
  async #fetch(transfer: Transfer, ref: ArtifactRef, hints: FetchHints, signal: AbortSignal): Promise<void> {
    const digest = hints.digest ?? null
    const sources = this.#options.sourcesOf(ref, hints.near ?? null)
    const first = await this.#describe({ ref, digest, sources }, signal)
    if (first === null) throw new ArtifactUnavailable(`no source has ${ref.kind} ${ref.id}`)
    const together = first.by.type === 'store' ? sources : sources.slice(sources.indexOf(first.by))
    const tried = await this.#receive(transfer, first, together, signal)
    if (tried === null) return
    let failure = tried.error
    for (const source of sources) {
      if (tried.culprits.size === 1 && tried.culprits.has(source)) continue
      const described = first.isBelieved ? first : await this.#describe({ ref, digest, sources: [source] }, signal)
      if (described === null) continue
      const next = await this.#receive(transfer, described, [source], signal)
      if (next === null) return
      if (next.error instanceof EngineError) failure = next.error
    }
    throw failure
  }

  /** Returns the first description that can be right; null if no source has one. */
  async #describe({ ref, digest, sources }: Wanted, signal: AbortSignal): Promise<Described | null> {
    for (const by of sources) {
      const isKnown = digest !== null || by.type === 'store'
      if (ref.kind === 'checkpoint' && !isKnown) continue
      try {
        const limit = AbortSignal.any([signal, AbortSignal.timeout(describeMs)])
        const description = await by.describe(ref, limit)
        if (description === null) continue
        const isRight = description.ref.kind === ref.kind && description.ref.id === ref.id
        if (isRight && (digest === null || descriptionDigest(description) === digest))
          return { description, by, isBelieved: isKnown }
        this.#note(by, new Error('the description is not that of the artifact'))
      } catch (error) {
        signal.throwIfAborted()
        this.#note(by, error)
      }
    }
    return null
  }

  /**
   * Receives an artifact. Returns null after success. Returns the failure if another source, or
   * another description, can be right. Throws any other failure.
   */
  async #receive(
    transfer: Transfer,
    { description, by, isBelieved }: Described,
    sources: readonly ArtifactSource[],
    signal: AbortSignal,
  ): Promise<Spoiled | null> {
    const { metrics, times = fetchTimes } = this.#options
    let missing = bytesOf(description.files)
    metrics.addMissing(missing)
    const reader = new FailoverReader({
      ref: description.ref,
      sources,
      times,
      onBytes: ({ type }, bytes) => {
        metrics.noteReceived(type, bytes)
        metrics.addMissing(-bytes)
        missing -= bytes
      },
      onFailure: (source, error) => this.#note(source, error),
    })
    try {
      await transfer.receive(description, (file, stop) => reader.read(file, stop), signal)
      return null
    } catch (error) {
      signal.throwIfAborted()
      const mayBeLie = isBelieved
        ? error instanceof EngineError && error.kind === 'damaged'
        : error instanceof ArtifactUnavailable || (error instanceof EngineError && perhapsLies.includes(error.kind))
      if (!mayBeLie) throw error
      const culprits = new Set(isBelieved ? reader.used : [by, ...reader.used])
      for (const source of culprits) this.#note(source, error)
      return { error, culprits }
    } finally {
      metrics.addMissing(-missing)
    }
  }

  #note({ name }: ArtifactSource, err: unknown): void {
    this.#options.log.warn({ err, source: name }, 'a source of an artifact failed')
  }
}
