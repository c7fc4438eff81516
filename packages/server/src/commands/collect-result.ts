import type { GuestItem } from '@holt/engine'
import { incompleteTail } from './decode-output.ts'

/** What a command that was waited for left. */
export interface Collected {
  readonly pid: number
  readonly startedAt: number | null
  readonly exitCode: number | null
  readonly signal: string | null
  readonly timedOut: boolean
  readonly stdout: Gathered
  readonly stderr: Gathered
  readonly droppedBytes: number
  readonly sessionKept: boolean | null
}

/** The beginning of a stream, and how many bytes came in all. */
interface Gathered {
  readonly text: string
  readonly bytes: number
  readonly truncated: boolean
}

/** Reads a command to its end. Of each stream the first `maxOutputBytes` are kept: the output route has the rest, as long as the guest does. */
export async function collectResult(
  items: AsyncIterable<GuestItem>,
  { maxOutputBytes, now }: { maxOutputBytes: number; now: () => number },
): Promise<Collected> {
  const output = { stdout: new Head(maxOutputBytes), stderr: new Head(maxOutputBytes) }
  let pid = 0
  let startedAt: number | null = null
  let droppedBytes = 0
  let exit: Pick<Extract<GuestItem, { type: 'exit' }>, 'exit_code' | 'signal' | 'timed_out' | 'session_kept'> = {
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
    stdout: output.stdout.gathered(),
    stderr: output.stderr.gathered(),
    droppedBytes,
    sessionKept: exit.session_kept ?? null,
  }
}

/** Keeps the first bytes of a stream and counts all of them. */
class Head {
  readonly #kept: Buffer[] = []
  readonly #maxBytes: number
  #keptBytes = 0
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  add(base64: string): void {
    const chunk = Buffer.from(base64, 'base64')
    this.#bytes += chunk.length
    if (this.#keptBytes >= this.#maxBytes) return
    const part = chunk.subarray(0, this.#maxBytes - this.#keptBytes)
    this.#kept.push(part)
    this.#keptBytes += part.length
  }

  gathered(): Gathered {
    const all = Buffer.concat(this.#kept)
    const truncated = this.#bytes > this.#keptBytes
    const whole = truncated ? all.subarray(0, all.length - incompleteTail(all)) : all
    return { text: whole.toString('utf8'), bytes: this.#bytes, truncated }
  }
}
