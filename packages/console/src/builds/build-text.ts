import type { Build, BuildStatus } from '@holt/sdk'

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
