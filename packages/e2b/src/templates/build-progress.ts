import type { BuildStatus } from '@holt/protocol'
import type { StepOrigin } from './translate-steps.ts'

/** The statuses of a build as clients know them. */
export type TemplateStatus = 'waiting' | 'building' | 'ready' | 'error'

const statuses: Readonly<Record<BuildStatus, TemplateStatus>> = {
  queued: 'waiting',
  pulling: 'building',
  building: 'building',
  exporting: 'building',
  snapshotting: 'building',
  ready: 'ready',
  failed: 'error',
  cancelled: 'error',
}

/** Returns the status of a build as clients know it. */
export function templateStatus(status: BuildStatus): TemplateStatus {
  return statuses[status]
}

/** A line of a build's log. */
export interface BuildLogEntry {
  readonly timestamp: string
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly step?: string
}

/** The place and the cause of a failure. */
export interface BuildReason {
  readonly message: string
  /** The number of a client's step as text, `base` for the image, or `finalize`. */
  readonly step: string
}

/** The place of a failure of Holt. */
interface Failure {
  readonly code: string
  readonly message: string
  /** The number of the instruction among the steps of Holt, from 1. Null: it was none of them. */
  readonly line: number | null
  readonly details: Readonly<Record<string, unknown>>
}

const baseCodes: readonly string[] = ['image_not_found', 'image_pull_failed', 'image_unsupported']

/** Returns a failure as clients show it, at the step of theirs. */
export function buildReason(failure: Failure, origins: readonly StepOrigin[], lines: readonly string[]): BuildReason {
  const origin = failure.line === null ? undefined : origins[failure.line - 1]
  if (origin === undefined) {
    const step = baseCodes.includes(failure.code) ? 'base' : 'finalize'
    return { step, message: failure.message }
  }
  const line = origin === 'base' ? undefined : lines[origin - 1]
  const told = line === undefined ? failure.message : `failed to run command '${line}': ${outcomeOf(failure)}`
  return { step: String(origin), message: told }
}

/** Returns how a command ended, without Holt's command line, which no client has written. */
function outcomeOf({ details: { exit_code, signal, output }, message }: Failure): string {
  if (typeof exit_code !== 'number' && typeof signal !== 'string') return message
  const ended = typeof signal === 'string' ? `signal: ${signal}` : `exit status ${String(exit_code)}`
  return typeof output === 'string' && output !== '' ? `${ended}\n${output}` : ended
}
