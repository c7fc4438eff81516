import type { GuestItem } from '@holt/engine'
import { freeBytes } from '../../tenancy/limits/kept-memory.ts'
import { incompleteTail } from './decode-output.ts'

/** The result of a command that a client has waited for. */
export interface Collected {
  readonly pid: number
  readonly startedAt: number | null
  readonly exitCode: number | null
  readonly signal: string | null
  readonly timedOut: boolean
  readonly oomKilled: boolean
  readonly stdout: Gathered
  readonly stderr: Gathered
  readonly droppedBytes: number
  readonly sessionKept: boolean | null
}

/** The beginning of a stream, and the count of all its bytes. */
interface Gathered {
  readonly text: string
  readonly bytes: number
  readonly truncated: boolean
}

/** The limits of kept output. */
interface Bounds {
  /** The most bytes of each stream. */
  readonly maxOutputBytes: number
  /** Returns true if so many more bytes may be kept. */
  readonly keep: (bytes: number) => boolean
}

/**
 * Reads a command to its end. Keeps the first `maxOutputBytes` of each stream, or fewer if there is
 * no memory for them. The output route has the rest, as long as the guest keeps it.
 */
export async function collectResult(
  items: AsyncIterable<GuestItem>,
  { now, ...bounds }: Bounds & { now: () => number },
): Promise<Collected> {
  const output = { stdout: new Head(bounds), stderr: new Head(bounds) }
  let pid = 0
  let startedAt: number | null = null
  let droppedBytes = 0
  let exit: Omit<Extract<GuestItem, { type: 'exit' }>, 'type' | 'cursor'> = {
    exit_code: null,
    signal: null,
    timed_out: false,
  }
  for await (const item of items) {
    if (item.type === 'stdout' || item.type === 'stderr') output[item.type].add(item.data)
    else if (item.type === 'start') [pid, startedAt] = [item.pid, now()]
    else if (item.type === 'dropped') droppedBytes += item.dropped_bytes
    else if (item.type === 'exit') exit = item
  }
  return {
    pid,
    startedAt,
    exitCode: exit.exit_code,
    signal: exit.signal,
    timedOut: exit.timed_out,
    oomKilled: exit.oom_killed ?? false,
    stdout: output.stdout.gathered(),
    stderr: output.stderr.gathered(),
    droppedBytes,
    sessionKept: exit.session_kept ?? null,
  }
}

/**
 * Keeps the first bytes of a stream and counts all of them. They are in one buffer, so that output
 * byte by byte takes no more memory than other output.
 */
class Head {
  readonly #keep: (bytes: number) => boolean
  #maxBytes: number
  #kept = Buffer.alloc(0)
  #keptBytes = 0
  #bytes = 0

  constructor({ maxOutputBytes, keep }: Bounds) {
    this.#maxBytes = maxOutputBytes
    this.#keep = keep
  }

  add(base64: string): void {
    const chunk = Buffer.from(base64, 'base64')
    this.#bytes += chunk.length
    const wanted = Math.min(this.#maxBytes, this.#keptBytes + chunk.length)
    if (wanted > this.#kept.length) this.#grow(wanted)
    this.#keptBytes += chunk.copy(this.#kept, this.#keptBytes, 0, this.#maxBytes - this.#keptBytes)
  }

  gathered(): Gathered {
    const all = this.#kept.subarray(0, this.#keptBytes)
    const truncated = this.#bytes > this.#keptBytes
    const whole = truncated ? all.subarray(0, all.length - incompleteTail(all)) : all
    return { text: whole.toString('utf8'), bytes: this.#bytes, truncated }
  }

  /**
   * Makes space for so many bytes. If there is none, nothing more is kept: bytes after a gap would
   * not be the beginning.
   */
  #grow(wanted: number): void {
    const before = this.#kept.length
    let length = Math.min(this.#maxBytes, Math.max(wanted, 2 * before))
    if (length > freeBytes && !this.#keep(length - Math.max(before, freeBytes))) {
      length = Math.max(before, Math.min(this.#maxBytes, freeBytes))
      this.#maxBytes = length
    }
    const kept = Buffer.allocUnsafe(length)
    this.#kept.copy(kept, 0, 0, this.#keptBytes)
    this.#kept = kept
  }
}
