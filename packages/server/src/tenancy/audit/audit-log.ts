import { makeId } from '@holt/protocol'
import type { Log } from '../../foundation/log.ts'
import { type OpenEntry, writeEntry } from '../../foundation/request/audit-entry.ts'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import { isUnstorable } from '../../foundation/store/unstorable.ts'
import { maxWaiting, WaitingEntries } from './waiting-entries.ts'

/** The delay of entries without a database change, such as commands and files, in milliseconds. */
const flushMs = 200

/**
 * The delay after a failure, in milliseconds. A store can be away for hours, and each failure is a
 * line in the log.
 */
const retryMs = 5_000

/** The entries of one transaction, so that none blocks others for long. */
const batchSize = 100

/** The time in which calls without a valid key share one entry, in milliseconds. */
const failedMs = 60_000

/** The delay of such an entry, in milliseconds. */
const failedFlushMs = 5_000

/** The maximum number of addresses with their own count. All others share one. */
const maxAddresses = 1000
const otherAddresses = 'others'

/** A call at its start. */
export type AuditedCall = Pick<OpenEntry, 'projectId' | 'kind' | 'key' | 'address' | 'route' | 'params' | 'requestId'>

/**
 * The log of who did what. The transaction of a call's first event writes its entry, so no change
 * lacks one. Other entries are written in batches, when the call begins and again when it has
 * ended. A killed daemon loses the entries without an event of its last 200 milliseconds. It also
 * loses the calls without a valid key of its last five seconds.
 */
export class AuditLog {
  readonly #store: Store
  readonly #log: Log
  readonly #now: () => number
  readonly #waiting: WaitingEntries
  #timer: NodeJS.Timeout | null = null
  #delayMs = flushMs
  #flushing: Promise<void> = Promise.resolve()
  readonly #dropped = new WeakSet<OpenEntry>()
  /** The entries that count calls without a valid key, by address. */
  readonly #failed = new Map<string, OpenEntry>()
  /** The entries whose count is higher than in the database. */
  readonly #counted = new Set<OpenEntry>()
  #failedTimer: NodeJS.Timeout | null = null

  constructor(store: Store, log: Log, now: () => number, most: { all: number; project: number } = maxWaiting) {
    this.#waiting = new WaitingEntries(most)
    this.#store = store
    this.#log = log
    this.#now = now
  }

  /**
   * Begins the entry of a call. With `held` it is not written before `release` or `end`, because
   * the call may change nothing.
   */
  begin(call: AuditedCall, { held = false }: { readonly held?: boolean } = {}): OpenEntry {
    const at = this.#now()
    const named = thingNamed(call.params)
    const known = { named, subjectId: named, count: 1, lastAt: at }
    const entry = { ...call, ...known, auditId: makeId('audit'), at, status: null, told: [] }
    if (!held) this.#add(entry)
    return entry
  }

  /** Writes an entry that was held. */
  release(entry: OpenEntry): void {
    this.#add(entry)
  }

  /** Drops a held entry, because its call changes nothing. */
  drop(entry: OpenEntry): void {
    this.#dropped.add(entry)
  }

  /** Ends an entry. `status` is null if the client disconnected before the answer. */
  end(entry: OpenEntry, status: number | null): void {
    if (this.#dropped.has(entry)) return
    const lastAt = this.#now()
    for (const one of [entry, ...entry.told]) {
      one.status = status
      one.lastAt = lastAt
      this.#add(one)
    }
  }

  /** Counts a call without a valid key. */
  failedAuthentication(address: string): void {
    const at = this.#now()
    const key = this.#failed.has(address) || this.#failed.size < maxAddresses ? address : otherAddresses
    const open = this.#failed.get(key)
    const entry = open === undefined || isOver(open, at) ? failedEntry(key, at) : open
    entry.count += 1
    entry.lastAt = at
    this.#failed.set(key, entry)
    this.#counted.add(entry)
    this.#failedTimer ??= setTimeout(() => this.#noteFailed(), failedFlushMs).unref()
  }

  /** Writes all waiting and counted entries. */
  async flush(): Promise<void> {
    this.#noteFailed()
    await this.#flush()
  }

  async #flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#flushing = this.#flushing.then(() => this.#write())
    await this.#flushing
  }

  /** Writes all entries and stops counting. */
  async close(): Promise<void> {
    await this.flush()
    if (this.#failedTimer !== null) clearTimeout(this.#failedTimer)
  }

  #add(entry: OpenEntry): void {
    if (this.#waiting.add(entry)) this.#timer ??= setTimeout(() => void this.#flush(), this.#delayMs).unref()
  }

  /** Queues the counted entries, and removes the addresses whose minute is over. */
  #noteFailed(): void {
    if (this.#failedTimer !== null) clearTimeout(this.#failedTimer)
    this.#failedTimer = null
    for (const entry of this.#counted) this.#add(entry)
    this.#counted.clear()
    const now = this.#now()
    for (const [address, entry] of this.#failed) if (isOver(entry, now)) this.#failed.delete(address)
    if (this.#failed.size > 0) this.#failedTimer = setTimeout(() => this.#noteFailed(), failedFlushMs).unref()
  }

  async #write(): Promise<void> {
    // A call that ends meanwhile changes its entry, which is written once more then.
    const entries = this.#waiting.take().map((entry) => ({ entry, written: { ...entry } }))
    for (let start = 0; start < entries.length; start += batchSize) {
      try {
        await this.#writeBatch(entries.slice(start, start + batchSize).map(({ written }) => written))
      } catch (error) {
        // The entries wait for the next attempt. Calls continue meanwhile.
        this.#delayMs = retryMs
        this.#log.warn({ err: error, entries: entries.length - start }, 'audit entries could not be written')
        for (const { entry } of entries.slice(start)) this.#add(entry)
        return
      }
    }
    this.#delayMs = flushMs
    const lost = this.#waiting.takeLost()
    if (lost !== null) this.#log.error(lost, 'audit entries were lost: they could not be written')
  }

  /**
   * Writes entries together, or one by one if the store refuses one of them. The refused entry is
   * dropped, so that it does not block all later ones.
   */
  async #writeBatch(entries: readonly OpenEntry[]): Promise<void> {
    try {
      await this.#store.change(
        aloneWithRow,
        async (changes) => {
          for (const entry of entries) await writeEntry(changes, entry)
        },
        { durable: 'later' },
      )
    } catch (error) {
      if (!isUnstorable(error)) throw error
      const [entry] = entries
      if (entries.length > 1) for (const one of entries) await this.#writeBatch([one])
      else this.#log.error({ err: error, audit_id: entry?.auditId }, 'an audit entry was dropped: the store refused it')
    }
  }
}

/** Returns the last parameter of a path. A port is not a subject of its own; its runtime is. */
function thingNamed({ port: _, ...params }: OpenEntry['params']): string | null {
  return Object.values(params).at(-1) ?? null
}

/** Returns an entry for calls without a valid key, with a count of zero. */
function failedEntry(address: string, at: number): OpenEntry {
  return {
    auditId: makeId('audit'),
    projectId: null,
    kind: 'auth_failed',
    at,
    key: null,
    address,
    route: null,
    params: {},
    requestId: null,
    named: null,
    subjectId: null,
    status: 401,
    count: 0,
    lastAt: at,
    told: [],
  }
}

/** Returns true if an entry no longer counts. A clock that was set back also ends it. */
function isOver({ at }: OpenEntry, now: number): boolean {
  return now < at || now - at >= failedMs
}
