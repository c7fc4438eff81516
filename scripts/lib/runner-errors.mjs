import { stripVTControlCharacters } from 'node:util'

/** So many lines of a runner's output are shown. */
const linesMax = 40

/** The statuses of `timeout`: its limit was reached, and the runner also ignored the first signal. */
const limitStatuses = ['124', '137']

/**
 * Returns what a test runner says about errors outside every test, for people: vitest's part
 * "Unhandled Errors". It names an error that no test caught and a worker that died. Without this
 * part, returns the end of the output if `explained` is false.
 */
export function runnerErrors(output, { status, explained }) {
  const lines = stripVTControlCharacters(output).trimEnd().split('\n')
  const first = lines.findLastIndex((line) => /^⎯+ Unhandled Errors ⎯+$/.test(line))
  if (first !== -1) return shorten(unhandledErrors(lines.slice(first)))
  if (explained) return []
  const end = lines.slice(-linesMax).filter((line) => line !== '')
  const limit = limitStatuses.includes(status) ? ['Its time limit was reached, or a signal killed it.'] : []
  return [...limit, ...(end.length === 0 ? [] : ['The end of its output:', ...end])]
}

/** Returns the part up to the rule that closes it. The first errors are mostly the cause of the others. */
function unhandledErrors(lines) {
  const end = lines.findIndex((line) => /^⎯+$/.test(line))
  return (end === -1 ? lines : lines.slice(0, end)).filter((line) => line !== '')
}

function shorten(lines) {
  if (lines.length <= linesMax) return lines
  return [...lines.slice(0, linesMax), `... and ${lines.length - linesMax} more lines`]
}
