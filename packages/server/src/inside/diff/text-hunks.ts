import { structuredPatch } from 'diff'

/** The lines around a change that a patch shows. */
const contextLines = 3
/**
 * The bounds of one comparison. The event loop waits that long, in milliseconds. Texts that differ
 * more are shown as removed and added as a whole.
 */
const timeoutMs = 100
const maxEditLength = 4000

/** The time of all comparisons of one patch, in milliseconds. Other requests wait for them. */
const patchTimeMs = 2000

/** The time that is left for the comparisons of one patch. */
export class CompareTime {
  #leftMs: number

  constructor(ms: number = patchTimeMs) {
    this.#leftMs = ms
  }

  /** Runs a comparison with the time that it may take. Returns undefined if there is none left. */
  spend<Result>(compare: (timeoutMs: number) => Result): Result | undefined {
    if (this.#leftMs <= 0) return undefined
    const startMs = performance.now()
    const result = compare(Math.min(timeoutMs, this.#leftMs))
    this.#leftMs -= performance.now() - startMs
    return result
  }
}

const noNewline = '\\ No newline at end of file\n'

/** Returns the hunks of a unified diff between two texts. */
export function textHunks(before: string, after: string, time: CompareTime): string {
  if (before === '' || after === '') return wholeHunk(before, after)
  const patch = time.spend((timeout) =>
    structuredPatch('', '', before, after, undefined, undefined, { context: contextLines, timeout, maxEditLength }),
  )
  if (patch === undefined) return wholeHunk(before, after)
  return patch.hunks
    .map(({ oldStart, oldLines, newStart, newLines, lines }) => {
      const head = `@@ -${rangeOf(oldStart, oldLines)} +${rangeOf(newStart, newLines)} @@\n`
      return `${head}${lines.map((line) => `${line}\n`).join('')}`
    })
    .join('')
}

/** Returns a range in the form of a hunk. A range without lines begins at the line before it. */
function rangeOf(start: number, count: number): string {
  return `${count === 0 ? start - 1 : start},${count}`
}

/** Returns one hunk that removes all lines of a text and adds those of another. */
function wholeHunk(before: string, after: string): string {
  if (before === after) return ''
  const old = linesOf(before)
  const now = linesOf(after)
  const head = `@@ -${rangeOf(1, old.length)} +${rangeOf(1, now.length)} @@\n`
  return head + marked('-', old) + marked('+', now)
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n)/)
}

function marked(mark: string, lines: readonly string[]): string {
  return lines.map((line) => (line.endsWith('\n') ? mark + line : `${mark}${line}\n${noNewline}`)).join('')
}
