import type { IFunctionIdentifier, Terminal } from '@xterm/xterm'

/**
 * The queries that a terminal answers with numbers only: what it is, where its cursor is, and which
 * modes are on. Shells and editors wait for some of these answers.
 */
const answered: readonly IFunctionIdentifier[] = [
  { final: 'c' },
  { prefix: '>', final: 'c' },
  { final: 'n' },
  { prefix: '?', final: 'n' },
  { intermediates: '$', final: 'p' },
  { prefix: '?', intermediates: '$', final: 'p' },
]

/**
 * The commands that are ignored: colors (4, 10 to 12, and their resets), which have queries and can
 * hide text, and the clipboard (52).
 */
const ignored: readonly number[] = [4, 10, 11, 12, 52, 104, 110, 111, 112]

/** The reports that the focus came and went. They also answer the mode that turns them on. */
const focusReports: readonly string[] = ['\u001b[I', '\u001b[O']

/**
 * Limits what output makes a terminal type. Queries are answered while `mayAnswer` returns true.
 * Reports of the window and its title, colors and the clipboard are refused.
 */
export function guardAnswers({ parser }: Pick<Terminal, 'parser'>, mayAnswer: () => boolean): void {
  const isRefused = () => !mayAnswer()
  for (const query of answered) parser.registerCsiHandler(query, isRefused)
  parser.registerDcsHandler({ intermediates: '$', final: 'q' }, isRefused)
  parser.registerCsiHandler({ final: 't' }, () => true)
  for (const command of ignored) parser.registerOscHandler(command, () => true)
}

/** Returns true if typed data is a report of the focus. */
export function isFocusReport(data: string): boolean {
  return focusReports.includes(data)
}

/** The maximum number of answers in each interval. A program needs a few when it starts. */
const usual = { max: 50, everyMs: 1_000 }

/** Returns a function that says whether one more answer is within the rate. */
export function answerRate({ max, everyMs } = usual): () => boolean {
  let [count, since] = [0, performance.now()]
  return () => {
    const now = performance.now()
    if (now - since > everyMs) [count, since] = [0, now]
    count += 1
    return count <= max
  }
}
