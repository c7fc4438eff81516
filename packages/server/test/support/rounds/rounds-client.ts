import { type Chance, Fact } from '@holt/testkit'
import type { TestServer } from '../start-test-server.ts'
import type { RoundsFleet } from './rounds-fleet.ts'
import type { KnownRuntime, LastingState, OpenRequest, RoundsLedger } from './rounds-ledger.ts'

type Answer = Awaited<ReturnType<TestServer['ask']>>

const runtimes = '/v1/agents/runtime'

/** The policy that all clients replace. */
export const sharedPolicy = '/v1/agents/network-policy/shared'

/** The steps of a client. A step that is listed more often is more likely. */
const steps = ['create', 'create', 'write', 'write', 'pause', 'resume', 'delete', 'key', 'name', 'policy'] as const

/** The most runtimes of one client. */
const most = 3

/**
 * A client that changes random things of its own, each request through a random host, and writes
 * down what was acknowledged. An answer of 5xx, or none, leaves open if the change was made.
 */
export class RoundsClient {
  readonly #name: string
  readonly #fleet: RoundsFleet
  readonly #ledger: RoundsLedger
  readonly #chance: Chance
  readonly #own: KnownRuntime[] = []
  #made = 0

  constructor(
    name: string,
    { fleet, ledger, chance }: { readonly fleet: RoundsFleet; readonly ledger: RoundsLedger; readonly chance: Chance },
  ) {
    this.#name = name
    this.#fleet = fleet
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

  async #create(json: object = {}): Promise<void> {
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

  /** Asks two hosts at once for a runtime of the same name. One of them gets it, or none. */
  async #race(): Promise<void> {
    this.#made += 1
    const json = { name: `${this.#name}-${this.#made}` }
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
