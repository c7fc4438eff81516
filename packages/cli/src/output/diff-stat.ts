import type { DiffEntry, FileDiff } from '@holt/sdk'
import { styledData } from './print.ts'
import { printable } from './visible.ts'

/** The longest bar of `+` and `-`. */
const maxBar = 40

interface Counts {
  added: number
  removed: number
}

/**
 * Returns a line for each change of a diff with a patch: the path, and its added and removed lines.
 */
export function diffStat({ data, patch }: FileDiff): string[] {
  const counts = countLines(patch ?? '')
  let next = 0
  const rows = data.map((entry) => ({ entry, counts: entry.patch === 'shown' ? (counts[next++] ?? null) : null }))
  const width = Math.max(0, ...rows.map(({ entry }) => printable(entry.path).length))
  const most = Math.max(1, ...counts.map(({ added, removed }) => added + removed))
  return rows.map(({ entry, counts }) => ` ${printable(entry.path).padEnd(width)} | ${detailOf(entry, counts, most)}`)
}

function detailOf(entry: DiffEntry, counts: Counts | null, most: number): string {
  if (counts === null) {
    const sizes = `${entry.previous_size_bytes ?? 0} -> ${entry.size_bytes ?? 0} bytes`
    return entry.patch === 'binary' || entry.patch === 'too_large' ? `${entry.patch}, ${sizes}` : entry.change
  }
  const { added, removed } = counts
  if (added + removed === 0) return entry.change
  const scale = Math.min(1, maxBar / most)
  const bar = (count: number, mark: string) => mark.repeat(Math.ceil(count * scale))
  return `${added + removed} ${styledData('green', bar(added, '+'))}${styledData('red', bar(removed, '-'))}`
}

/**
 * Counts the lines of each path of a patch, in order. A hunk's head tells its length, so that
 * content which looks like a head is not one. A path that is deleted and created counts once.
 */
function countLines(patch: string): Counts[] {
  const all: Counts[] = []
  let path = ''
  let left = { old: 0, now: 0 }
  for (const line of patch.split('\n')) {
    const counts = all.at(-1)
    if (counts !== undefined && left.old + left.now > 0) {
      const mark = line[0]
      if (mark === '\\') continue
      if (mark !== '+') left.old -= 1
      if (mark !== '-') left.now -= 1
      if (mark === '+') counts.added += 1
      if (mark === '-') counts.removed += 1
      continue
    }
    const hunk = /^@@ -\d+,(\d+) \+\d+,(\d+) @@/.exec(line)
    if (hunk !== null) left = { old: Number(hunk[1]), now: Number(hunk[2]) }
    else if (line.startsWith('diff --git ')) {
      if (line !== path) all.push({ added: 0, removed: 0 })
      path = line
    }
  }
  return all
}
