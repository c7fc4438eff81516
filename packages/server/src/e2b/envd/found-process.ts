import { KeyedLock } from '@holt/async'
import type { Changed, FoundProcess } from '@holt/e2b'
import type { GuestProcess } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import { within } from '../../foundation/wire/call.ts'
import { followOutput } from '../../inside/commands/follow-output.ts'
import { answerTimeoutMs } from '../../inside/files/guest-timeouts.ts'
import { StreamRetry } from '../../runtimes/links/stream-retry.ts'
import type { InsideVisit } from './inside-visit.ts'
import { endOf, processItems } from './process-items.ts'

/** The maximum number of bytes of one write to the guest. */
const maxWriteBytes = 1024 * 1024

/** The writes to each process, in the order in which they came. */
const writes = new KeyedLock()

/** Returns a process that the guest knows. */
export function foundProcess(inside: InsideVisit, found: GuestProcess): FoundProcess {
  const { guest, visit } = inside
  const { id, pid, cursor, state, pty } = found
  const ask = <Result>(work: Promise<Result>) => inside.ask('', work)
  const write = (data: Buffer, eof: boolean, signal: AbortSignal) =>
    writes.run(`${visit.row.runtime_id} ${id}`, () => ask(writeAll(inside, { id, data, eof }, signal)))
  return {
    pid,
    isTerminal: pty !== null,
    end: state === 'running' ? null : endOf(found),
    follow: (signal) => {
      const streamRetry = new StreamRetry(visit.service, { ref: visit.ref, signal })
      const followed = { guest, commandId: id, cursor, hold: false, hasStart: false }
      return processItems(followOutput(followed, streamRetry, signal))
    },
    write: (data, signal) => write(data, false, signal),
    closeInput: (signal) => write(Buffer.alloc(0), true, signal),
    signal: (name, signal) =>
      ask(unlessEnded(guest.processes.signal(id, name, within({ gone: signal }, answerTimeoutMs)))),
    resize: (size, signal) =>
      ask(unlessEnded(guest.processes.resize(id, size, within({ gone: signal }, answerTimeoutMs)))),
  }
}

/** Writes all bytes, however long the process does not read, until the signal aborts. */
async function writeAll(
  { guest }: InsideVisit,
  { id, data, eof }: { readonly id: string; readonly data: Buffer; readonly eof: boolean },
  signal: AbortSignal,
): Promise<Changed | 'closed'> {
  let at = 0
  let offset: number | null = null
  do {
    signal.throwIfAborted()
    const piece = data.subarray(at, at + maxWriteBytes)
    const isLast = at + piece.length === data.length
    const request = { data: piece, eof: eof && isLast, offset }
    const timed = within({ gone: signal }, answerTimeoutMs)
    try {
      const written: { written_bytes: number; offset: number } = await guest.processes.writeStdin(id, request, timed)
      at += Math.min(written.written_bytes, piece.length)
      offset = written.offset
    } catch (error) {
      if (!isStdinClosed(error)) throw error
      const { state } = await guest.processes.get(id, within({ gone: signal }, answerTimeoutMs))
      return state === 'running' ? 'closed' : 'ended'
    }
  } while (at < data.length)
  return 'done'
}

function isStdinClosed(error: unknown): boolean {
  return error instanceof HoltError && error.code === 'conflict' && error.details?.reason === 'stdin_closed'
}

async function unlessEnded(change: Promise<GuestProcess>): Promise<Changed> {
  try {
    await change
    return 'done'
  } catch (error) {
    if (error instanceof HoltError && (error.code === 'conflict' || error.code === 'command_not_found')) return 'ended'
    throw error
  }
}
