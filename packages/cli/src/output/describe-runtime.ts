import type { Runtime } from '@holt/sdk'
import { spanOf } from './table.ts'

/** Returns the name of a runtime for people, beside its permanent id. */
export function labelOf({ runtime_id, name }: Pick<Runtime, 'runtime_id' | 'name'>): string {
  return name === null ? runtime_id : `${name} (${runtime_id})`
}

type Facts = Pick<Runtime, 'state' | 'expires_at' | 'on_timeout' | 'idle_timeout_secs' | 'auto_resume'>

/** Returns the next automatic change of a runtime; empty if there is none. */
export function nextOf(runtime: Facts, nowMs: number = Date.now()): string {
  const { state, expires_at, on_timeout, idle_timeout_secs, auto_resume } = runtime
  if (state === 'paused') return auto_resume ? 'resumes when used' : ''
  if (state !== 'running') return ''
  const idle = idle_timeout_secs === null ? [] : [`when idle for ${spanOf(idle_timeout_secs)}`]
  const pauses = idle.length === 0 ? '' : `pauses ${idle[0]}`
  if (expires_at === null) return pauses
  const within = `in ${spanOf(rounded(Math.max(0, (Date.parse(expires_at) - nowMs) / 1000)))}`
  if (on_timeout === 'pause') return `pauses ${[within, ...idle].join(' or ')}`
  return pauses === '' ? `ends ${within}` : `ends ${within}, ${pauses}`
}

/** Rounds a time, so that an hour that began a moment ago is shown as an hour. */
function rounded(seconds: number): number {
  return seconds < 120 ? Math.round(seconds) : Math.round(seconds / 60) * 60
}
