import { type Build, type BuildStatus, writtenOut } from '@holt/sdk'

/** The name by which clients take a template: without the tag that is the default. */
export function labelOf({ name, tag }: Pick<Build, 'name' | 'tag'>): string {
  return tag === 'latest' ? name : `${name}:${tag}`
}

/** Returns true if a build has ended: its status is final. */
export function hasEnded(status: BuildStatus): boolean {
  return status === 'ready' || status === 'failed' || status === 'cancelled'
}

/** Returns a number of things: `1 file`, `3 files`. */
export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Returns a duration in milliseconds as people read it: `0.4 s`, `12.3 s`, `4 min 5 s`. */
export function durationText(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** The most characters of a line that are looked at. The service cuts lines at fewer. */
const mostCharacters = 64 * 1024

/** Control sequences of terminals (ECMA-48): colours, titles and movements of the cursor. */
const sequences = /\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[()][A-Za-z0-9]/g

/**
 * Returns a line of output as a terminal would leave it: without colours, and only the last of
 * overwritten texts. Other characters that are no text are written out.
 */
export function plainLine(message: string): string {
  const shown = message.slice(0, mostCharacters).replace(sequences, '').trimEnd()
  return writtenOut(shown.slice(shown.lastIndexOf('\r') + 1), (character) => character === '\t')
}
