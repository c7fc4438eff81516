import { styleText } from 'node:util'
import { visible } from './visible.ts'

/**
 * Prints a line of data on stdout. Escape sequences other than our own styles are printed visibly.
 */
export function print(line: string): void {
  process.stdout.write(`${visible(line)}\n`)
}

/** Prints the API's own object on stdout. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2))
}

/**
 * Prints a message for people on stderr. Escape sequences other than our own styles are printed
 * visibly.
 */
export function say(line: string): void {
  process.stderr.write(`${visible(line)}\n`)
}

type Style = Parameters<typeof styleText>[0]

/** Styles text for stderr. Returns plain text if stderr is no terminal or NO_COLOR is set. */
export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stderr })
}

/** Styles text for stdout. */
export function styledData(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout })
}

/**
 * The standard streams whose readers have left. Node does not keep this state: it recreates a
 * standard stream after every error.
 */
const unread = new Set<NodeJS.WriteStream>()

/**
 * Ignores closed pipes. A reader such as `head` closes the pipe when it has read enough, and later
 * writes are no failure.
 */
export function ignoreClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      unread.add(stream)
    })
  }
}

/** Returns true if the reader of a stream has left. */
export function isGone(stream: NodeJS.WriteStream): boolean {
  return unread.has(stream) || stream.destroyed
}

/** Writes raw bytes and waits while the reader is slow. A reader that has left is no failure. */
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
