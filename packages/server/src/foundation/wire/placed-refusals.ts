import { HoltError } from '@holt/protocol'
import { HostRefused } from './forwarder.ts'

/** The errors with which a host refuses a runtime that another one may have room for. */
const refusals: ReadonlySet<string> = new Set(['capacity_exhausted', 'disk_full'])

/** Returns true if a host has refused a runtime, and nothing of it exists there. */
export function isRefusal(error: unknown): boolean {
  return error instanceof HostRefused || (error instanceof HoltError && refusals.has(error.code))
}
