/** A line of a difference: in both texts, or only in one of them. */
export interface DifferentLine {
  readonly side: 'both' | 'mine' | 'theirs'
  readonly text: string
}

/** More pairs of lines than this are not compared one by one, but shown as replaced. */
const mostPairs = 4_000_000

/** Returns the lines of two texts, with those that are in both only once. */
export function lineDifference(mine: string, theirs: string): readonly DifferentLine[] {
  const [left, right] = [mine.split('\n'), theirs.split('\n')]
  const most = Math.min(left.length, right.length)
  let start = 0
  while (start < most && left[start] === right[start]) start += 1
  let end = 0
  while (end < most - start && left.at(-1 - end) === right.at(-1 - end)) end += 1
  return [
    ...onSide('both', left.slice(0, start)),
    ...middle(left.slice(start, left.length - end), right.slice(start, right.length - end)),
    ...onSide('both', left.slice(left.length - end)),
  ]
}

/** The lines around each change that are shown. */
const contextLines = 3

/** Returns the changed lines with those around them. Null stands for lines that are left out. */
export function changedLines(lines: readonly DifferentLine[], most: number): readonly (DifferentLine | null)[] {
  const shown = new Set<number>()
  for (const [at, { side }] of lines.entries()) {
    if (side === 'both') continue
    for (let near = at - contextLines; near <= at + contextLines; near += 1) shown.add(near)
  }
  const found: (DifferentLine | null)[] = []
  for (const [at, line] of lines.entries()) {
    if (shown.has(at)) found.push(line)
    else if (found.at(-1) !== null) found.push(null)
    if (found.length >= most) return [...found, null]
  }
  return found
}

function onSide(side: DifferentLine['side'], lines: readonly string[]): readonly DifferentLine[] {
  return lines.map((text) => ({ side, text }))
}

/** The longest common subsequence of lines decides (Hunt and McIlroy, 1976). */
function middle(left: readonly string[], right: readonly string[]): readonly DifferentLine[] {
  if (left.length * right.length > mostPairs) return [...onSide('theirs', right), ...onSide('mine', left)]
  const width = right.length + 1
  const common = new Uint32Array((left.length + 1) * width)
  const at = (row: number, column: number) => common[row * width + column] ?? 0
  for (let row = left.length - 1; row >= 0; row -= 1)
    for (let column = right.length - 1; column >= 0; column -= 1)
      common[row * width + column] =
        left[row] === right[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1))
  const lines: DifferentLine[] = []
  let [row, column] = [0, 0]
  while (row < left.length || column < right.length) {
    const [mine, theirs] = [left[row], right[column]]
    if (mine !== undefined && mine === theirs) {
      lines.push({ side: 'both', text: mine })
      row += 1
      column += 1
    } else if (theirs !== undefined && (mine === undefined || at(row, column + 1) >= at(row + 1, column))) {
      lines.push({ side: 'theirs', text: theirs })
      column += 1
    } else if (mine !== undefined) {
      lines.push({ side: 'mine', text: mine })
      row += 1
    }
  }
  return lines
}
