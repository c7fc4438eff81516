import type { ArtifactFile, ArtifactRef } from '@holt/engine'
import { pause } from '../../foundation/async/pause.ts'
import { Absent, type ArtifactSource, ArtifactUnavailable } from './artifact-source.ts'

/** The limits of reads from sources. */
export interface FetchTimes {
  /** The time in which a source has to send `leastBytes`, in milliseconds. */
  readonly stallMs: number
  readonly leastBytes: number
  /** The first pause before all sources are tried again, in milliseconds. Each next one doubles. */
  readonly retryMs: number
}

/** The usual limits. */
export const fetchTimes: FetchTimes = { stallMs: 10_000, leastBytes: 64 * 1024, retryMs: 100 }

/** The failures without a byte between them after which a source is given up. */
const maxFailures = 3

/** The parts of a reader. */
export interface FailoverOptions {
  readonly ref: ArtifactRef
  /** The sources in the order in which they are tried. */
  readonly sources: readonly ArtifactSource[]
  readonly times: FetchTimes
  /** Called with the bytes of each piece. */
  readonly onBytes: (source: ArtifactSource, bytes: number) => void
  /** Called when a source fails. */
  readonly onFailure: (source: ArtifactSource, error: unknown) => void
}

/**
 * Reads the files of an artifact from several sources. A source that breaks, stalls or does not
 * have a file is followed by the next one, which continues at the same byte.
 */
export class FailoverReader {
  readonly #options: FailoverOptions
  /** The failures of each source since its last byte. */
  readonly #failures = new Map<ArtifactSource, number>()
  #current = 0
  #rounds = 0
  /** The sources of which bytes were used. */
  readonly used = new Set<ArtifactSource>()

  constructor(options: FailoverOptions) {
    this.#options = options
  }

  /** Reads a file. Throws `ArtifactUnavailable` if every source has failed. */
  async *read(file: ArtifactFile, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const { ref, times, onBytes, onFailure } = this.#options
    let offset = 0
    let cause: unknown
    while (offset < file.sizeBytes) {
      signal.throwIfAborted()
      const source = this.#pick(cause)
      const ended = new AbortController()
      const stop = AbortSignal.any([signal, ended.signal])
      try {
        for await (const piece of inPace(source.read(ref, file, offset, stop), times)) {
          offset += piece.length
          this.used.add(source)
          this.#failures.delete(source)
          this.#rounds = 0
          onBytes(source, piece.length)
          yield piece
        }
        if (offset < file.sizeBytes) throw new Error(`${file.name} ended early`)
      } catch (error) {
        if (signal.aborted) throw signal.reason
        cause = error
        onFailure(source, error)
        await this.#fail(source, error, signal)
      } finally {
        ended.abort()
      }
    }
  }

  #pick(cause: unknown): ArtifactSource {
    const { ref, sources } = this.#options
    for (let step = 0; step < sources.length; step += 1) {
      const source = sources[(this.#current + step) % sources.length]
      if (source === undefined || (this.#failures.get(source) ?? 0) >= maxFailures) continue
      this.#current = (this.#current + step) % sources.length
      return source
    }
    throw new ArtifactUnavailable(`no source gives ${ref.kind} ${ref.id}`, { cause })
  }

  async #fail(source: ArtifactSource, error: unknown, signal: AbortSignal): Promise<void> {
    const failures = error instanceof Absent ? maxFailures : (this.#failures.get(source) ?? 0) + 1
    this.#failures.set(source, failures)
    this.#current += 1
    if (this.#current < this.#options.sources.length) return
    this.#current = 0
    // A busy host has a free place soon.
    await pause(this.#options.times.retryMs * 2 ** this.#rounds, signal)
    this.#rounds += 1
  }
}

/**
 * Passes on pieces. Throws if fewer than the least bytes arrive while it waits for them. The time
 * in which the receiver writes is not that of the source.
 */
async function* inPace(
  content: AsyncIterable<Uint8Array>,
  { stallMs, leastBytes }: FetchTimes,
): AsyncGenerator<Uint8Array> {
  const iterator = content[Symbol.asyncIterator]()
  let leftMs = stallMs
  let bytes = 0
  for (;;) {
    const begunAt = performance.now()
    const next = await within(iterator.next(), leftMs)
    if (next.done === true) return
    leftMs -= performance.now() - begunAt
    bytes += next.value.length
    if (bytes >= leastBytes) {
      leftMs = stallMs
      bytes = 0
    }
    yield next.value
  }
}

async function within<Result>(work: Promise<Result>, ms: number): Promise<Result> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('the source is too slow')), Math.max(0, ms))
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
