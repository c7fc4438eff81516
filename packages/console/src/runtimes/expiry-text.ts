import { spanText } from '../parts/spans.ts'
import type { RuntimeRow } from './runtime-row.ts'

/** Returns the next deadline of a runtime, and its effect, as a text. */
export function expiryText({ state, expiresAt, onTimeout, idleSecs }: RuntimeRow, now: number): string {
  if (state === 'paused') return 'not while paused'
  if (state === 'failed') return ''
  const idle = idleSecs === null ? '' : `${spanText(idleSecs * 1000)} without use`
  if (expiresAt === null) return idle === '' ? 'never' : `pauses after ${idle}`
  const deadline = `${onTimeout === 'pause' ? 'pauses' : 'ends'} in ${spanText(expiresAt - now)}`
  return idle === '' ? deadline : `${deadline}, or after ${idle}`
}
