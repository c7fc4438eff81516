import type { ProcessEnd, ProcessItem } from '@holt/e2b'
import type { GuestItem, GuestProcess } from '@holt/guest-client'

/** Yields the output of a process and its end. Later output of its children is left out. */
export async function* processItems(items: AsyncIterable<GuestItem>): AsyncGenerator<ProcessItem> {
  let end: ProcessEnd = { exitCode: null, signal: null, timedOut: false }
  // The stream is read to its end: a reset of each would end the connection to the guest.
  for await (const item of items) {
    if (item.type === 'stdout' || item.type === 'stderr')
      yield { type: item.type, data: Buffer.from(item.data, 'base64') }
    else if (item.type === 'dropped') yield { type: 'lost', bytes: item.dropped_bytes }
    else if (item.type === 'exit') end = endOf(item)
  }
  yield { type: 'end', end }
}

/** Returns the end of a process. */
export function endOf({
  exit_code,
  signal,
  timed_out,
}: Pick<GuestProcess, 'exit_code' | 'signal' | 'timed_out'>): ProcessEnd {
  return { exitCode: exit_code, signal, timedOut: timed_out }
}
