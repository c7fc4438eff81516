import { styleText } from 'node:util'
import { visible } from './visible.ts'

/** Prints a line of data on stdout. Nothing in it but our own styles is obeyed by a terminal. */
export function print(line: string): void {
  process.stdout.write(`${visible(line)}\n`)
}

/** Prints the API's own object on stdout. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2))
}

/** Tells people something, on stderr. Nothing in it but our own styles is obeyed by a terminal. */
export function say(line: string): void {
  process.stderr.write(`${visible(line)}\n`)
}

type Style = Parameters<typeof styleText>[0]

/** Styles text for stderr: plain where that is no terminal, or where NO_COLOR says so. */
export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stderr })
}

/** Styles text for stdout. */
export function styledData(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout })
}

/** Our own streams whose readers have left. Node itself forgets it: a standard stream is made new after every error. */
const unread = new Set<NodeJS.WriteStream>()

/** A reader that has seen enough, such as `head`, closes the pipe; writing on then is no failure of ours. */
export function ignoreClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      unread.add(stream)
    })
  }
}

/** True when nobody reads a stream any more. */
export function isGone(stream: NodeJS.WriteStream): boolean {
  return unread.has(stream) || stream.destroyed
}

/** Writes bytes as they are and waits while the reader is slow. Gone readers are no failure. */
export async function writeBytes(stream: NodeJS.WriteStream, bytes: Uint8Array): Promise<void> {
  if (isGone(stream) || stream.write(bytes)) return
  await new Promise<void>((resolve) => {
    const done = () => {
      stream.off('drain', done)
      stream.off('close', done)
      stream.off('error', done)
      resolve()
    }
    stream.on('drain', done)
    stream.on('close', done)
    stream.on('error', done)
  })
}
