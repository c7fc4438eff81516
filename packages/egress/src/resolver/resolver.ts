import { setTimeout as delay } from 'node:timers/promises'
import { type Address, parseAddress } from '../addresses/parse-address.ts'
import { canonicalName } from '../names/canonical-name.ts'
import { askServer } from './ask-server.ts'
import { makeQuery } from './messages.ts'
import type { AnswerRecord } from './read-records.ts'
import type { DnsServer } from './servers.ts'

/** The result for a name. It does not imply that an address may be dialled. */
export type LookupResult =
  | { readonly type: 'found'; readonly addresses: readonly Address[] }
  | { readonly type: 'no_such_name' }
  | { readonly type: 'no_address' }
  | { readonly type: 'failed' }

interface Resolved {
  readonly result: LookupResult
  readonly ttlSecs: number
}

const noError = 0
const noSuchName = 3

/** The time for all servers together, in milliseconds. Each is asked twice. */
const lookupTimeoutMs = 6000
const rounds = 2
/**
 * The maximum number of aliases of aliases in one answer, and the most repeated questions. RFC 1034
 * has no bound; servers use about as many.
 */
const maxAliases = 16
const maxQuestions = 8
const maxAddresses = 16
/**
 * The time for which IPv4 addresses wait for IPv6 ones, in milliseconds (RFC 8305, 3, in reverse:
 * most hosts have no IPv6).
 */
const secondFamilyMs = 50

const maxTtlSecs = 300
const minTtlSecs = 1
const negativeTtlSecs = 5
const maxCached = 512
const maxAtOnce = 64

/**
 * The gateway's own resolver, one for each runtime, so that no runtime fills another's cache. It is
 * a stub resolver that asks recursive servers. It never reads `/etc/hosts`, and it resolves only
 * canonical names.
 */
export class Resolver {
  readonly #servers: () => Promise<readonly DnsServer[]>
  /** The entries in the order of their last use. */
  readonly #cache = new Map<string, { readonly result: LookupResult; readonly expiresAt: number }>()
  readonly #running = new Map<string, Promise<LookupResult>>()
  readonly #closed = new AbortController()

  constructor(servers: () => Promise<readonly DnsServer[]>) {
    this.#servers = servers
  }

  /** Resolves a canonical name, from the cache while the records are valid. Never rejects. */
  async lookup(name: string): Promise<LookupResult> {
    const cached = this.#cache.get(name)
    if (cached !== undefined && cached.expiresAt > performance.now()) return cached.result
    const running = this.#running.get(name)
    if (running !== undefined) return running
    if (this.#running.size >= maxAtOnce || canonicalName(name) !== name) return { type: 'failed' }
    const lookup = this.#ask(name).finally(() => this.#running.delete(name))
    this.#running.set(name, lookup)
    return lookup
  }

  /** Aborts the lookups in progress. */
  close(): void {
    this.#closed.abort(new Error('the runtime is detached'))
  }

  async #ask(name: string): Promise<LookupResult> {
    const signal = AbortSignal.any([this.#closed.signal, AbortSignal.timeout(lookupTimeoutMs)])
    const four = this.#resolve(name, 'A', signal)
    const six = this.#resolve(name, 'AAAA', signal)
    const first = await four
    const second = await this.#second(first.result.type, six)
    const { result, ttlSecs } = merge(first, second)
    if (result.type !== 'failed') this.#remember(name, result, ttlSecs)
    return result
  }

  /**
   * Returns the other family's addresses. Does not wait if the name does not exist, and only
   * briefly if the first family has addresses.
   */
  async #second(first: LookupResult['type'], six: Promise<Resolved>): Promise<Resolved | null> {
    if (first === 'no_such_name') return null
    return first === 'found' ? Promise.race([six, delay(secondFamilyMs, null, { ref: false })]) : six
  }

  #remember(name: string, result: LookupResult, ttlSecs: number): void {
    this.#cache.delete(name)
    const oldest = this.#cache.keys().next().value
    if (this.#cache.size >= maxCached && oldest !== undefined) this.#cache.delete(oldest)
    const seconds = Math.min(Math.max(ttlSecs, minTtlSecs), maxTtlSecs)
    this.#cache.set(name, { result, expiresAt: performance.now() + seconds * 1000 })
  }

  /** Returns the addresses of one family, through aliases. */
  async #resolve(name: string, type: 'A' | 'AAAA', signal: AbortSignal): Promise<Resolved> {
    let wanted = name
    let ttlSecs = maxTtlSecs
    for (let question = 0; question < maxQuestions; question++) {
      const answer = await this.#question(wanted, type, signal)
      if (answer === null) return failed
      const followed = follow(answer.records, wanted, type)
      if (followed === null) return failed
      ttlSecs = Math.min(ttlSecs, followed.ttlSecs)
      if (followed.addresses.length > 0) return { result: { type: 'found', addresses: followed.addresses }, ttlSecs }
      if (answer.code === noSuchName) return { result: { type: 'no_such_name' }, ttlSecs: negativeTtlSecs }
      if (followed.name === wanted) return { result: { type: 'no_address' }, ttlSecs: negativeTtlSecs }
      wanted = followed.name
    }
    return failed
  }

  /** Asks one server after the other until one has an answer. */
  async #question(name: string, type: 'A' | 'AAAA', signal: AbortSignal) {
    const servers = await this.#servers()
    for (let round = 0; round < rounds; round++)
      for (const server of servers) {
        if (signal.aborted) return null
        // A server that is down, slow or broken is skipped for the next one.
        const answer = await askServer(server, makeQuery(name, type), signal).catch(() => null)
        if (answer !== null && (answer.code === noError || answer.code === noSuchName)) return answer
      }
    return null
  }
}

const failed: Resolved = { result: { type: 'failed' }, ttlSecs: 0 }

/**
 * Follows the aliases that an answer has for a name. Returns null if they form a loop, are too
 * many, or lead to an invalid name.
 */
function follow(records: readonly AnswerRecord[], start: string, type: 'A' | 'AAAA') {
  let name = start
  let ttlSecs = maxTtlSecs
  for (let hop = 0; hop <= maxAliases; hop++) {
    const owned = records.filter((record) => record.owner === name && record.type === type).slice(0, maxAddresses)
    if (owned.length > 0) {
      const addresses = owned.flatMap(({ data }) => parseAddress(data) ?? [])
      return { name, addresses, ttlSecs: Math.min(ttlSecs, ...owned.map((record) => record.ttlSecs)) }
    }
    const alias = records.find((record) => record.owner === name && record.type === 'CNAME')
    if (alias === undefined) return { name, addresses: [], ttlSecs }
    const target = canonicalName(alias.data)
    if (target === null) return null
    name = target
    ttlSecs = Math.min(ttlSecs, alias.ttlSecs)
  }
  return null
}

function merge(first: Resolved, second: Resolved | null): Resolved {
  if (second === null) return first
  const both = [first, second]
  const found = both.filter(({ result }) => result.type === 'found')
  if (found.length > 0) {
    const addresses = found.flatMap(({ result }) => (result.type === 'found' ? result.addresses : []))
    return { result: { type: 'found', addresses }, ttlSecs: Math.min(...found.map(({ ttlSecs }) => ttlSecs)) }
  }
  for (const type of ['failed', 'no_such_name'] as const) {
    const one = both.find(({ result }) => result.type === type)
    if (one !== undefined) return one
  }
  return first
}
