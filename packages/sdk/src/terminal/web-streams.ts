import type { Terminal } from './terminal.ts'

/** A terminal's output and input as Web streams. */
export interface TerminalStreams {
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>
  readonly writable: WritableStream<Uint8Array | string>
}

/**
 * Returns the streams of a terminal. Output is taken as it is read, and a write waits until the
 * command has received it.
 */
export function streamsOf(terminal: Terminal): TerminalStreams {
  const output = terminal[Symbol.asyncIterator]()
  return {
    readable: new ReadableStream({
      pull: async (controller) => {
        const { value, done } = await output.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      cancel: () => terminal.close(),
    }),
    writable: new WritableStream({
      write: (data) => terminal.write(data),
      close: () => terminal.eof(),
    }),
  }
}
