import { HoltError } from '@holt/protocol'
import type { Tenancy } from '../tenancy.ts'
import { findRecord, type IdempotencyRecord, openRecord, type RecordRef, type RunRef, takeRecord } from './records.ts'

type Claiming = Pick<Tenancy, 'store' | 'now' | 'records' | 'thisHost' | 'hosts' | 'log'>

/** A record, and whether this request has opened it. */
export interface FoundRecord {
  readonly record: IdempotencyRecord
  readonly isNew: boolean
}

/** Returns the record of a request, and opens it if there is none. */
export async function findOrOpen(
  service: Claiming,
  ref: RecordRef,
  request: Parameters<typeof openRecord>[2],
): Promise<FoundRecord> {
  const known = await findRecord(service, ref)
  if (known !== undefined) return { record: known, isNew: false }
  const opened = await openRecord(service, ref, request)
  if (opened !== null) return { record: opened, isNew: true }
  // Another host has opened it meanwhile, and may even have dropped it again.
  const other = await findRecord(service, ref)
  if (other === undefined) throw inProgress()
  return { record: other, isNew: false }
}

/**
 * Returns the run that this host begins of an open record. A machine in no fleet runs it under the
 * same number, because only this process can run it. In a fleet, throws `idempotency_in_progress`
 * while another host may run it.
 */
export async function claimRun(service: Claiming, ref: RecordRef, { record, isNew }: FoundRecord): Promise<RunRef> {
  const found = { ...ref, run: record.run }
  if (isNew || service.records.askRunner === null) return found
  if (await mayRunElsewhere(service, ref, record)) throw inProgress()
  const run = await takeRecord(service, found)
  if (run === null) throw inProgress()
  return { ...ref, run }
}

/** Returns false if no other host runs the request of an open record. */
async function mayRunElsewhere(
  { store, records, thisHost, hosts, log }: Claiming,
  ref: RecordRef,
  { runner_host: runner, runner_epoch: epoch }: IdempotencyRecord,
): Promise<boolean> {
  // This process knows its own requests, and those of its earlier epochs have ended.
  if (runner === null || runner === thisHost.hostId || records.askRunner === null) return false
  const row = await store.db.selectFrom('hosts').select('epoch').where('host_id', '=', runner).executeTakeFirst()
  // A verdict and a start begin another epoch. A process of an earlier one changes nothing more.
  if (row === undefined || row.epoch !== epoch) return false
  if (hosts.silentMs(runner) !== null) return true
  try {
    return await records.askRunner(runner, ref)
  } catch (err) {
    log.warn({ err, host_id: runner }, 'the host that runs a request with an Idempotency-Key could not be asked')
    return true
  }
}

/** Returns the error for a request whose first one has no answer yet. */
export function inProgress(): HoltError {
  return new HoltError('idempotency_in_progress', 'The first request with this Idempotency-Key still runs.')
}

/** A run has ended whose record another host has taken over. */
export class TakenOver extends HoltError {
  constructor() {
    super('unavailable', 'Another host runs the request with this Idempotency-Key.', {
      hint: 'Send the request again, with the same key.',
    })
  }
}
