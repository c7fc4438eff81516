import { ConnectError } from '../../errors/connect-error.ts'
import type { ProcessItem } from '../backend/processes.ts'
import { endEvent } from './end-words.ts'

/** The maximum number of bytes of one message with output. */
const maxPipeBytes = 32 * 1024
const maxTerminalBytes = 16 * 1024

/** The message that is sent when no other was for a while. */
export const processKeepalive = { event: { keepalive: {} } }

/**
 * Yields the events of a process: `start`, its output and `end`. Throws `deadline_exceeded` if the
 * process was killed at its timeout, and `resource_exhausted` if output was lost.
 */
export async function* processEvents(
  pid: number,
  items: AsyncIterable<ProcessItem>,
  { isTerminal }: { readonly isTerminal: boolean },
): AsyncGenerator<object> {
  yield { event: { start: { pid } } }
  for await (const item of items) {
    if (item.type === 'lost')
      throw new ConnectError('resource_exhausted', `${item.bytes} bytes of output were lost: nobody read them in time.`)
    if (item.type !== 'end') {
      yield* dataEvents(isTerminal ? 'pty' : item.type, item.data)
      continue
    }
    if (item.end.timedOut)
      throw new ConnectError('deadline_exceeded', 'The timeout of the process is over, and it was killed.')
    yield { event: { end: endEvent(item.end) } }
    return
  }
}

function* dataEvents(name: 'stdout' | 'stderr' | 'pty', data: Buffer): Generator<object> {
  const most = name === 'pty' ? maxTerminalBytes : maxPipeBytes
  for (let at = 0; at < data.length; at += most)
    yield { event: { data: { [name]: data.subarray(at, at + most).toString('base64') } } }
}
