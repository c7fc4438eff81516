import type { ArtifactDescription, ArtifactRef, Engine, ReadFile, Transfer } from '@holt/engine'
import { failpoint } from '@holt/failpoints'
import { HoltError } from '@holt/protocol'
import { type Artifacts, artifactMissing } from '../../artifacts/artifacts.ts'
import { storedArtifacts } from '../../artifacts/stored-rows.ts'
import { unlessAborted } from '../../foundation/async/unless-aborted.ts'
import { fromEngineError, isEngineError, isTimeout } from '../../foundation/errors/engine-errors.ts'
import type { HostDirectory } from '../../foundation/host/host-directory.ts'
import { isJudged } from '../../foundation/host/host-row.ts'
import type { ThisHost } from '../../foundation/host/this-host.ts'
import type { Log } from '../../foundation/log.ts'
import { RecentMap } from '../../foundation/recent-map.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import { isHere } from '../artifacts/is-here.ts'
import type { ListedArtifact } from '../stored-artifacts/stored-artifacts.ts'
import { ArtifactRows, type KnownArtifact } from './artifact-rows.ts'

/** The longest time of one upload or one fetch, in milliseconds, whoever waits for it. */
const longestMs = 3600_000

/** The maximum number of artifacts whose last use is remembered. The others count as unused. */
const mostNoted = 10_000

/** The object store, as artifacts need it. */
export interface ArtifactObjects {
  /** Writes an artifact, its manifest last. A stored artifact is success. */
  put(description: ArtifactDescription, read: ReadFile, signal: AbortSignal): Promise<void>
  /** Removes an artifact, its manifest first. A missing artifact is success. */
  remove(ref: ArtifactRef, signal: AbortSignal): Promise<void>
  /** Returns true if the manifest of an artifact is there. */
  has(ref: ArtifactRef, signal: AbortSignal): Promise<boolean>
  /** Lists the objects of artifacts, one item for each object. */
  list(signal: AbortSignal): AsyncIterable<ListedArtifact>
  /** Removes the parts of uploads that began before a time and were never completed. */
  removeUnfinished(before: Date, signal: AbortSignal): Promise<void>
  /** Claims the object store for a database. Returns the id of the database that it belongs to. */
  claim(storeId: string, signal: AbortSignal): Promise<string>
}

/** Brings artifacts to this host, from other hosts or from the object store. */
export interface ArtifactFetches {
  fetch(
    ref: ArtifactRef,
    hints: { readonly digest: string | null; readonly near: string | null },
    signal: AbortSignal,
  ): Promise<void>
}

/** The parts of the artifacts of a fleet. */
export interface FleetArtifactsOptions {
  readonly store: Store
  readonly engine: Pick<Engine, 'ability'>
  readonly thisHost: ThisHost
  readonly hosts: HostDirectory
  readonly objects: ArtifactObjects
  readonly log: Log
  readonly now: () => number
  /** Aborted when the service closes. */
  readonly closing: AbortSignal
}

/** The artifacts of a host of a fleet. */
export class FleetArtifacts implements Artifacts {
  readonly isShared = true
  readonly classId: string | null
  readonly #options: FleetArtifactsOptions
  readonly #rows: ArtifactRows
  readonly #transfer: Transfer | null
  /** The uploads and fetches under way, by kind of work and id. */
  readonly #underWay = new Map<string, Promise<void>>()
  /** When an artifact was fetched or stored last, by id. */
  readonly #usedAt = new RecentMap<string, number>(mostNoted)
  #fetches: ArtifactFetches | null = null

  constructor(options: FleetArtifactsOptions) {
    this.#options = options
    this.#rows = new ArtifactRows(options)
    this.#transfer = options.engine.ability('transfer')
    this.classId = this.#transfer?.classId ?? null
  }

  /** Sets the way by which artifacts come, once. Until then only those on the disk are there. */
  fetchWith(fetches: ArtifactFetches): void {
    this.#fetches ??= fetches
  }

  async store(ref: ArtifactRef, signal: AbortSignal): Promise<void> {
    const { objects } = this.#options
    const transfer = this.#transfer
    if (transfer === null) return
    this.#note(ref)
    await this.#joined(`store ${ref.id}`, signal, (stop) => this.#put({ objects, transfer }, ref, stop))
  }

  async fetch(ref: ArtifactRef, signal: AbortSignal): Promise<void> {
    this.#note(ref)
    if (await isHere(this.#options.engine, ref)) return
    await this.#joined(`fetch ${ref.id}`, signal, (stop) => this.#bring(ref, stop))
  }

  async storedAmong(ids: readonly string[]): Promise<readonly string[]> {
    const stored = await storedArtifacts(this.#options.store.db, ids)
    return [...stored].sort((one, other) => (this.#usedAt.get(one) ?? 0) - (this.#usedAt.get(other) ?? 0))
  }

  async #put(
    { objects, transfer }: { readonly objects: ArtifactObjects; readonly transfer: Transfer },
    ref: ArtifactRef,
    signal: AbortSignal,
  ): Promise<void> {
    for (;;) {
      if (await this.#rows.pardon(ref)) return
      const description = await transfer.describe(ref)
      await this.#rows.begin(description)
      await failpoint('artifact.begun')
      await objects.put(description, readOf(transfer, ref), signal)
      await failpoint('artifact.put')
      // The collector may have removed a row whose upload took longer than a day.
      if (await this.#rows.finish(ref)) return
    }
  }

  async #bring(ref: ArtifactRef, signal: AbortSignal): Promise<void> {
    const known = await this.#rows.find(ref)
    if (known !== null) this.#requireClass(known)
    if (this.#fetches === null) throw notHere(ref)
    const hints = { digest: known?.descriptionDigest ?? null, near: known?.hostId ?? null }
    try {
      await this.#fetches.fetch(ref, hints, signal)
    } catch (cause) {
      // Only one that is in the object store comes back by itself.
      throw known?.state === 'stored' ? cause : notHere(ref, cause)
    }
  }

  /** Throws if hosts of another class restore a checkpoint, or none. */
  #requireClass({ classId }: KnownArtifact): void {
    if (classId === null || classId === this.classId) return
    const { rows } = this.#options.hosts
    const about = { class_id: classId }
    if (rows.some((row) => row.class_id === classId && !isJudged(row)))
      throw new HoltError('capacity_exhausted', 'Hosts of another class restore this, and none of them has taken it.', {
        details: { reason: 'other_class', retry_after_secs: 5, ...about },
      })
    throw new HoltError('snapshot_incompatible', 'No host of the fleet has the engine and the CPU that wrote it.', {
      details: about,
    })
  }

  /**
   * Waits for work that others may wait for too. The work continues if this caller leaves, so that
   * a large artifact arrives after several requests.
   */
  async #joined(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    signal.throwIfAborted()
    const running = this.#underWay.get(key) ?? this.#begin(key, work)
    await unlessAborted(running, signal).catch((error: unknown) => {
      throw meaningOf(error)
    })
  }

  #begin(key: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { closing, log } = this.#options
    const running = work(AbortSignal.any([closing, AbortSignal.timeout(longestMs)])).finally(() => {
      this.#underWay.delete(key)
    })
    running.catch((err: unknown) => {
      if (!closing.aborted) log.warn({ err, work: key }, 'an artifact could not be moved')
    })
    this.#underWay.set(key, running)
    return running
  }

  #note({ id }: ArtifactRef): void {
    this.#usedAt.set(id, this.#options.now())
  }
}

function readOf(transfer: Transfer, ref: ArtifactRef): ReadFile {
  return async function* ({ name, sizeBytes: length }, signal) {
    yield* await transfer.read(ref, name, { offset: 0, length }, signal)
  }
}

function notHere({ kind }: ArtifactRef, cause?: unknown): HoltError {
  return new HoltError('unavailable', `The ${kind} is on another host.`, {
    details: { reason: artifactMissing, retry_after_secs: 5 },
    cause,
  })
}

/** Returns the client's error for a failure of an upload or a fetch. */
function meaningOf(error: unknown): unknown {
  if (error instanceof HoltError) return error
  if (isEngineError(error) && error.kind !== 'not_found') return fromEngineError(error)
  const [message, reason] = isTimeout(error)
    ? ['The files are still being fetched.', 'artifact_on_its_way']
    : ['The files cannot be stored or fetched now.', 'artifact_unavailable']
  return new HoltError('unavailable', message, { details: { reason, retry_after_secs: 5 }, cause: error })
}
