import type { Build, BuildStatus } from '@holt/sdk'

/** Returns the name by which clients take a template. It has no tag if that is the default. */
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
