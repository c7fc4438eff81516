import { printable } from './visible.ts'

/** What is over before this needs no line. */
const shownAfterMs = 400
const drawEveryMs = 1_000

/** Says on a terminal what is waited for, and for how long it has been, until it is there; elsewhere nothing. */
export async function whileWaiting<Answer>(
  what: string,
  work: () => Promise<Answer>,
  stream: NodeJS.WriteStream = process.stderr,
): Promise<Answer> {
  if (!stream.isTTY) return work()
  const sinceMs = performance.now()
  let isThere = false
  const draw = () => {
    const seconds = Math.round((performance.now() - sinceMs) / 1000)
    const text = seconds < 1 ? `${printable(what)}…` : `${printable(what)}… ${seconds}s`
    stream.write(`\r\u001b[K${text.slice(0, (stream.columns || 80) - 1)}`)
    isThere = true
  }
  const first = setTimeout(draw, shownAfterMs)
  const timer = setInterval(draw, drawEveryMs)
  try {
    return await work()
  } finally {
    clearTimeout(first)
    clearInterval(timer)
    if (isThere) stream.write('\r\u001b[K')
  }
}
