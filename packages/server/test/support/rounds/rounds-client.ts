import { type Chance, Fact } from '@holt/testkit'
import type { TestServer } from '../start-test-server.ts'
import type { KnownRuntime, LastingState, OpenRequest, RoundsLedger } from './rounds-ledger.ts'

type Answer = Awaited<ReturnType<TestServer['ask']>>

/** A host as clients reach it. `ask` throws if there is no answer. */
export interface RoundsEntry {
  readonly server: Pick<TestServer, 'ask'>
}

/** The hosts to which clients send requests. */
export interface RoundsEntries {
  readonly hosts: readonly RoundsEntry[]
}

const runtimes = '/v1/agents/runtime'

/** The policy that all clients replace. */
export const sharedPolicy = '/v1/agents/network-policy/shared'

/** The steps of a client. A step that is listed more often is more likely. */
const steps = [
  ...(['create', 'create', 'write', 'write', 'pause', 'resume', 'delete'] as const),
  ...(['key', 'name', 'once', 'policy'] as const),
] as const

/** The most runtimes of one client. */
const most = 3

/** The parts of a client. */
export interface RoundsClientOptions {
  readonly fleet: RoundsEntries
  readonly ledger: RoundsLedger
  readonly chance: Chance
  /** The settings of the runtimes that it makes. */
  readonly settings?: object
}

/**
 * A client that changes random things of its own, each request through a random host, and writes
 * down what was acknowledged. An answer of 5xx, or none, leaves open if the change was made.
 */
export class RoundsClient {
  readonly #name: string
  readonly #fleet: RoundsEntries
  readonly #ledger: RoundsLedger
  readonly #chance: Chance
  /** The settings of the runtimes that it makes. */
  readonly #settings: object
  readonly #own: KnownRuntime[] = []
  #made = 0

  constructor(name: string, { fleet, ledger, chance, settings = {} }: RoundsClientOptions) {
    this.#name = name
    this.#fleet = fleet
    this.#settings = settings
    this.#ledger = ledger
    this.#chance = chance
  }

  /** Makes some changes, one after another. */
  async work(count: number): Promise<void> {
    for (let left = count; left > 0; left -= 1) await this.#step()
  }

  /** Sends a request through a random host. Null: no answer says what has happened. */
  async #ask(...asked: Parameters<TestServer['ask']>): Promise<Answer | null> {
    return this.#askAt(this.#chance.below(this.#fleet.hosts.length), asked)
  }

  async #askAt(at: number, asked: Parameters<TestServer['ask']>): Promise<Answer | null> {
    const host = this.#fleet.hosts[at]
    const answer = (await host?.server.ask(...asked).catch(() => null)) ?? null // Its connection was reset.
    return answer === null || answer.status >= 500 ? null : answer
  }

  #step(): Promise<void> {
    const step = this.#chance.pick(steps)
    const own = this.#own.filter(({ state }) => !state.mayBe('terminated') && !state.mayBe('failed'))
    if (step === 'key') return this.#key()
    if (step === 'name') return this.#race()
    if (step === 'once') return this.#once()
    if (step === 'policy') return this.#replacePolicy()
    if (own.length === 0 || (step === 'create' && own.length < most)) return this.#create()
    const runtime = this.#chance.pick(own)
    switch (step) {
      case 'pause':
        return this.#move(runtime, 'pause', 'paused')
      case 'resume':
        return this.#move(runtime, 'resume', 'running')
      case 'delete':
        return this.#delete(runtime)
      default:
        return this.#write(runtime)
    }
  }

  async #create(): Promise<void> {
    const json = this.#settings
    const request: OpenRequest = { path: runtimes, json, key: crypto.randomUUID() }
    const answer = await this.#ask('POST', runtimes, { json, headers: { 'idempotency-key': request.key } })
    if (answer === null) this.#ledger.creates.push(request)
    else if (answer.status === 201) this.#add(answer)
  }

  #add({ json }: Answer): void {
    this.#ledger.acknowledged += 1
    this.#own.push(this.#ledger.addRuntime(json.runtime_id))
  }

  async #move({ id, state }: KnownRuntime, verb: string, to: LastingState): Promise<void> {
    state.mayBecome(() => to)
    const answer = await this.#ask('POST', `${runtimes}/${id}/${verb}`)
    if (answer?.status !== 200) return
    this.#ledger.acknowledged += 1
    state.is(to)
  }

  async #delete({ id, state }: KnownRuntime): Promise<void> {
    state.mayBecome(() => 'terminated')
    const answer = await this.#ask('DELETE', `${runtimes}/${id}`)
    if (answer?.status !== 204) return
    this.#ledger.acknowledged += 1
    state.is('terminated')
  }

  async #write({ id, state, files }: KnownRuntime): Promise<void> {
    this.#made += 1
    const path = `/tmp/${this.#name}-${this.#made}`
    const body = `content of ${path}`
    const fact = new Fact<string | null>(`${path} in ${id}`, null)
    files.set(path, fact)
    fact.mayBecome(() => body)
    state.mayBecome(() => 'running')
    const answer = await this.#ask('PUT', `${runtimes}/${id}/files/content?path=${path}`, { body })
    if (answer === null || answer.status >= 300) return
    this.#ledger.acknowledged += 1
    fact.is(body)
    state.is('running')
  }

  /** Makes a key, and revokes it through another request. */
  async #key(): Promise<void> {
    const json = { name: this.#name, scopes: ['runtime:read'] }
    const made = await this.#ask('POST', '/v1/agents/key', { json })
    if (made?.status !== 201) return
    const { key_id: id, key } = made.json
    const state = new Fact<'valid' | 'revoked'>(id, 'valid')
    this.#ledger.keys.set(key, { id, state })
    if (this.#chance.below(2) === 0) return
    state.mayBecome(() => 'revoked')
    const answer = await this.#ask('DELETE', `/v1/agents/key/${id}`)
    if (answer?.status !== 204) return
    this.#ledger.acknowledged += 1
    state.is('revoked')
  }

  /** Sends one create with one key to all hosts at once. They make one runtime, or none. */
  async #once(): Promise<void> {
    const request: OpenRequest = { path: runtimes, json: this.#settings, key: crypto.randomUUID() }
    const asked = ['POST', runtimes, { json: request.json, headers: { 'idempotency-key': request.key } }] as const
    const answers = await Promise.all(this.#fleet.hosts.map((_, at) => this.#askAt(at, [...asked])))
    const made = answers.filter((answer) => answer?.status === 201)
    const texts = new Set(made.map((answer) => answer?.text))
    if (texts.size > 1) throw new Error(`one key has different answers: ${[...texts].join(' and ')}`)
    // Without an answer that says what was made, the same key finds it out.
    if (made[0] == null) this.#ledger.creates.push(request)
    else this.#add(made[0])
  }

  /** Asks two hosts at once for a runtime of the same name. One of them gets it, or none. */
  async #race(): Promise<void> {
    this.#made += 1
    const json = { ...this.#settings, name: `${this.#name}-${this.#made}` }
    const requests = [0, 1].map(() => ({ path: runtimes, json, key: crypto.randomUUID() }))
    const from = this.#chance.below(this.#fleet.hosts.length)
    const answers = await Promise.all(
      requests.map(({ key }, index) => {
        const at = (from + index) % this.#fleet.hosts.length
        return this.#askAt(at, ['POST', runtimes, { json, headers: { 'idempotency-key': key } }])
      }),
    )
    if (answers.filter((answer) => answer?.status === 201).length > 1) throw new Error(`${json.name} was made twice`)
    for (const [index, answer] of answers.entries()) {
      const request = requests[index]
      if (answer === null && request !== undefined) this.#ledger.creates.push(request)
      else if (answer?.status === 201) this.#add(answer)
    }
  }

  /** Replaces the shared policy through two hosts at once, if it still is as it was read. */
  async #replacePolicy(): Promise<void> {
    const known = await this.#ask('GET', sharedPolicy)
    const etag = known?.headers.get('etag') ?? null
    if (known === null || etag === null) return
    const from = this.#chance.below(this.#fleet.hosts.length)
    const answers = await Promise.all(
      [0, 1].map((index) => {
        const json = { allow: [{ host: `${this.#name}-${index}.example` }] }
        const at = (from + index) % this.#fleet.hosts.length
        return this.#askAt(at, ['PUT', sharedPolicy, { json, headers: { 'if-match': etag } }])
      }),
    )
    const made = answers.filter((answer) => answer?.status === 200)
    if (made.length > 1) throw new Error(`two hosts have replaced ${etag}`)
    for (const answer of made) {
      this.#ledger.acknowledged += 1
      this.#ledger.revisions.push(answer?.json.revision)
    }
  }
}
