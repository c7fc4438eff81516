import type { GuestItem } from '@holt/guest-client'
import { freeBytes } from '../../tenancy/limits/kept-memory.ts'
import { type GuestExit, incompleteTail } from './decode-output.ts'

/** The result of a command that a client has waited for. */
export interface Collected {
  readonly exit: Omit<GuestExit, 'type' | 'cursor'>
  readonly stdout: Gathered
  readonly stderr: Gathered
}

/** The beginning of a stream. */
interface Gathered {
  readonly text: string
  /** True if the stream had more bytes. */
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
export async function collectResult(items: AsyncIterable<GuestItem>, bounds: Bounds): Promise<Collected> {
  const output = { stdout: new Head(bounds), stderr: new Head(bounds) }
  let exit: Collected['exit'] = { exit_code: null, signal: null, timed_out: false }
  for await (const item of items) {
    if (item.type === 'stdout' || item.type === 'stderr') output[item.type].add(item.data)
    else if (item.type === 'exit') exit = item
  }
  return { exit, stdout: output.stdout.gathered(), stderr: output.stderr.gathered() }
}

/**
 * Keeps the first bytes of a stream. They are in one buffer, so that output byte by byte takes no
 * more memory than other output.
 */
class Head {
  readonly #keep: (bytes: number) => boolean
  #maxBytes: number
  #kept = Buffer.alloc(0)
  #keptBytes = 0
  #truncated = false

  constructor({ maxOutputBytes, keep }: Bounds) {
    this.#maxBytes = maxOutputBytes
    this.#keep = keep
  }

  add(base64: string): void {
    const chunk = Buffer.from(base64, 'base64')
    const wanted = Math.min(this.#maxBytes, this.#keptBytes + chunk.length)
    if (wanted > this.#kept.length) this.#grow(wanted)
    const copied = chunk.copy(this.#kept, this.#keptBytes, 0, this.#maxBytes - this.#keptBytes)
    this.#keptBytes += copied
    this.#truncated ||= copied < chunk.length
  }

  gathered(): Gathered {
    const all = this.#kept.subarray(0, this.#keptBytes)
    const whole = this.#truncated ? all.subarray(0, all.length - incompleteTail(all)) : all
    return { text: whole.toString('utf8'), truncated: this.#truncated }
  }

  /**
   * Reserves space for bytes. Without space, nothing more is kept, because bytes after a gap would
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
