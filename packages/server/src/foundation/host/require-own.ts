import { HoltError } from '@holt/protocol'
import type { RuntimeRow } from '../store/tables.ts'
import type { HostDirectory } from './host-directory.ts'
import type { ThisHost } from './this-host.ts'

/** The parts of the foundation that tell whose a runtime is. */
export interface HostsKnown {
  readonly thisHost: ThisHost
  readonly hosts: HostDirectory
}

/** The columns of a runtime that say whose it is. */
type OwnedRow = Pick<RuntimeRow, 'runtime_id' | 'host_id' | 'host_epoch'>

/** Returns true if this host may act on a runtime. */
export function isOwn({ thisHost }: Pick<HostsKnown, 'thisHost'>, row: OwnedRow): boolean {
  return row.host_id === thisHost.hostId && row.host_epoch === thisHost.epoch
}

/**
 * Returns true if a runtime belongs to no host: it is paused, and what a resume needs is in the
 * object store of the fleet. The host that resumes or ends it takes it.
 */
export function isUnowned({ state, host_id }: Pick<RuntimeRow, 'state' | 'host_id'>): boolean {
  return state === 'paused' && host_id === null
}

/**
 * Throws `unavailable` if this host may not act on a runtime. The details say if the runtime's host
 * has not been heard of.
 */
export function requireOwn(service: HostsKnown, row: OwnedRow): void {
  if (!isOwn(service, row)) throw notOwn(service, row)
}

/** Returns the error of a request for a runtime of another host. */
export function notOwn({ hosts }: Pick<HostsKnown, 'hosts'>, row: OwnedRow): HoltError {
  const silentMs = row.host_id === null ? null : hosts.silentMs(row.host_id)
  const about = { runtime_id: row.runtime_id }
  if (silentMs === null)
    return new HoltError('unavailable', 'Another host has the runtime.', {
      details: { reason: otherHost, ...about },
    })
  return new HoltError('unavailable', unreachableText(silentMs), {
    details: { reason: hostUnreachable, ...about, silent_secs: Math.round(silentMs / 1000), retry_after_secs: 5 },
  })
}

/** Returns the error of requests to a host that has lost its lease. */
export function fencedError(): HoltError {
  return new HoltError('unavailable', 'This host has lost its contact to the fleet.', {
    hint: 'Try again: another host of the fleet answers.',
    details: { reason: 'host_fenced' },
  })
}

/** The reason of an error for a runtime that another host has. */
export const otherHost = 'other_host'

/** The code of a runtime whose host has not been heard of. */
export const hostUnreachable = 'host_unreachable'

/** Returns the words for a silent host. */
export function unreachableText(silentMs: number): string {
  return `Its host has not been heard of for ${Math.round(silentMs / 1000)} s.`
}
