import { makeId } from '@holt/protocol'
import type { Log } from '../service.ts'
import type { Store } from '../store/open-store.ts'
import { isUnstorable } from '../store/unstorable.ts'
import { type OpenEntry, writeEntry } from './audit-entry.ts'
import { maxWaiting, WaitingEntries } from './waiting-entries.ts'

/**
 * How late a call may be in the log that changes nothing of the database by itself: a command, a
 * file.
 */
const flushMs = 200

/** How many entries are written as one transaction, so that none holds others up for long. */
const batchSize = 100

/** Calls without a valid key that are one entry come within so long of the first of them. */
const failedMs = 60_000

/** How late such a call may be in the log. */
const failedFlushMs = 5_000

/** The most addresses that are counted apart at once; the others are counted together. */
const maxAddresses = 1000
const otherAddresses = 'others'

/** A call that begins. */
export type AuditedCall = Pick<OpenEntry, 'projectId' | 'kind' | 'key' | 'address' | 'route' | 'params' | 'requestId'>

/**
 * Who did what. An entry is written in the transaction of the first event of its call, so that no
 * change is without one; all else is written in batches beside the calls, when they begin and again
 * when they have ended. A daemon that is killed loses the entries of its last fifth of a second
 * that go with no event, and the calls without a valid key of its last five seconds.
 */
export class AuditLog {
  readonly #store: Store
  readonly #log: Log
  readonly #now: () => number
  readonly #waiting: WaitingEntries
  #timer: NodeJS.Timeout | null = null
  #flushing: Promise<void> = Promise.resolve()
  readonly #dropped = new WeakSet<OpenEntry>()
  /** By address: what counts the calls without a valid key. */
  readonly #failed = new Map<string, OpenEntry>()
  /** Those that have counted more than the database knows. */
  readonly #counted = new Set<OpenEntry>()
  #failedTimer: NodeJS.Timeout | null = null

  constructor(store: Store, log: Log, now: () => number, most: { all: number; project: number } = maxWaiting) {
    this.#waiting = new WaitingEntries(most)
    this.#store = store
    this.#log = log
    this.#now = now
  }

  /**
   * Begins the entry of a call. With `held` it is not written before `release` or `end`: the call
   * may turn out to change nothing.
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

  /** Drops an entry that was held: its call changes nothing. */
  drop(entry: OpenEntry): void {
    this.#dropped.add(entry)
  }

  /** Ends an entry. `status` is null where the client was gone before there was an answer. */
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

  /** Writes what waits, and what has been counted. */
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

  /** Writes everything, and counts no longer. */
  async close(): Promise<void> {
    await this.flush()
    if (this.#failedTimer !== null) clearTimeout(this.#failedTimer)
  }

  #add(entry: OpenEntry): void {
    if (this.#waiting.add(entry)) this.#timer ??= setTimeout(() => void this.#flush(), flushMs).unref()
  }

  /** Puts down what has been counted, and forgets the addresses whose minute is over. */
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
    const entries = this.#waiting.take()
    for (let start = 0; start < entries.length; start += batchSize) {
      try {
        await this.#writeBatch(entries.slice(start, start + batchSize))
      } catch (error) {
        // They wait for the next time; calls go on meanwhile.
        this.#log.warn({ err: error, entries: entries.length - start }, 'audit entries could not be written')
        for (const entry of entries.slice(start)) this.#add(entry)
        return
      }
    }
    const lost = this.#waiting.takeLost()
    if (lost !== null) this.#log.error(lost, 'audit entries were lost: they could not be written')
  }

  /**
   * Writes entries at once, or each apart where the store does not take one of them: that one is
   * dropped, or all behind it would wait for ever.
   */
  async #writeBatch(entries: readonly OpenEntry[]): Promise<void> {
    try {
      await this.#store.change(
        async (changes) => {
          for (const entry of entries) await writeEntry(changes, entry)
        },
        { durable: 'later' },
      )
    } catch (error) {
      if (!isUnstorable(error)) throw error
      const [entry] = entries
      if (entries.length > 1) for (const one of entries) await this.#writeBatch([one])
      else
        this.#log.error(
          { err: error, audit_id: entry?.auditId },
          'an audit entry was dropped: the store does not take it',
        )
    }
  }
}

/**
 * What a path names last. A port is no thing of its own: what is done to it is done to its runtime.
 */
function thingNamed({ port: _, ...params }: OpenEntry['params']): string | null {
  return Object.values(params).at(-1) ?? null
}

/** The entry of calls without a valid key, before the first is counted. */
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

/** Whether an entry counts no more. A clock that was set back ends it as well. */
function isOver({ at }: OpenEntry, now: number): boolean {
  return now < at || now - at >= failedMs
}
