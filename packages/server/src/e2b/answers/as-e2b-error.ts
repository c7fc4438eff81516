import { E2bError } from '@holt/e2b'
import { type ErrorCode, errorCatalogue, type HoltError } from '@holt/protocol'
import { finite } from '../../foundation/errors/limit-reached.ts'

/** The statuses that differ from those of Holt's own API. */
const otherStatuses: Partial<Readonly<Record<ErrorCode, number>>> = {
  runtime_terminated: 404,
  runtime_not_running: 404,
  disk_too_small: 400,
  start_cmd_failed: 400,
  ready_cmd_failed: 400,
  ready_timeout: 400,
  on_restore_failed: 400,
  snapshot_incompatible: 400,
  snapshot_damaged: 400,
}

/** Returns the status of an error of the control plane, by its code. */
export function statusOf(code: ErrorCode): number {
  return otherStatuses[code] ?? errorCatalogue[code].status
}

/**
 * Returns an error as the clients of the control plane understand it. They repeat some answers by
 * themselves: only a rate is worth a repeat, because a repeated create could make a second sandbox.
 */
export function asE2bError(error: HoltError): E2bError {
  const status = statusOf(error.code)
  const issues = error.details?.issues ?? []
  const told =
    issues.length === 0 ? [error.message] : issues.map(({ pointer, message }) => `${fieldOf(pointer)} ${message}`)
  return new E2bError(status, told.join('; '), { headers: retryHeaders(error, status), cause: error })
}

/** Returns a field as clients write it: `network.allowOut.0`, or the name in the query. */
function fieldOf(pointer: string): string {
  return pointer.replace(/^\/(?:query\/|header\/)?/, '').replaceAll('/', '.') || 'the body'
}

function retryHeaders({ code, details }: HoltError, status: number): Record<string, string> {
  if (code === 'rate_limited') return { 'retry-after': String(Math.ceil(finite(details?.retry_after_secs) ?? 1)) }
  return status === 429 || status >= 502 ? { 'should-retry': 'false' } : {}
}
