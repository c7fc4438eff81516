import { randomBytes } from 'node:crypto'
import { Fact } from '@holt/testkit'
import type { Chance } from '../chance.ts'
import type { Ask } from './ask.ts'
import { eventKey, type KnownKey, type Ledger, type PolicyValue } from './ledger.ts'
import { type Change, keyed, type Requests } from './requests.ts'

/** The paths of network policies, secrets and keys. */
export const settingsPaths = {
  policies: '/v1/agents/network-policy',
  secrets: '/v1/agents/secret',
  keys: '/v1/agents/key',
} as const

/** The largest number of keys of one worker. */
const keysMax = 3

/** The objects that all parts of a worker share. */
export interface Parts {
  readonly ask: Ask
  readonly ledger: Ledger
  readonly chance: Chance
  readonly requests: Requests
}

/** The part of a worker that creates, replaces and removes a policy, a secret and keys. */
export class SettingsWorker {
  readonly #name: string
  readonly #parts: Parts
  #made = 0

  constructor(name: string, parts: Parts) {
    this.#name = name
    this.#parts = parts
  }

  /** Makes one change. */
  step(): Promise<void> {
    switch (this.#parts.chance.pick(['policy', 'secret', 'key'])) {
      case 'policy':
        return this.#policy()
      case 'secret':
        return this.#secret()
      default:
        return this.#key()
    }
  }

  async #policy(): Promise<void> {
    const { ask, ledger, chance, requests } = this.#parts
    const name = `${this.#name}-policy`
    const fact = ledger.policies.get(name) ?? new Fact<PolicyValue>(name, null)
    ledger.policies.set(name, fact)
    const [now, ...others] = fact.values
    // A later check determines the value.
    if (now === undefined || others.length > 0) return
    const path = `${settingsPaths.policies}/${name}`
    if (now !== null && chance.below(4) === 0) {
      const send = () => ask('DELETE', path)
      return requests.make({ ...removal(fact), send })
    }
    this.#made += 1
    const host = `${this.#name}-${this.#made}.example.com`
    const json = { name, allow: [{ host }] }
    const post = keyed(ask, settingsPaths.policies, json)
    return requests.make({
      send: now === null ? post : () => ask('PUT', path, { json }),
      // A repeated create counts once, but a repeated replacement makes two revisions.
      begin: () =>
        fact.mayBecome((value) => ({ revision: now === null || value === null ? 1 : value.revision + 1, host })),
      acknowledge: ({ policy_id: id, revision }) => {
        fact.is({ revision, host })
        ledger.expectEvent(eventKey(now === null ? 'policy.created' : 'policy.replaced', id, revision))
      },
      expected: [now === null ? 201 : 200],
      mustBeKnown: now === null,
    })
  }

  async #secret(): Promise<void> {
    const { ask, ledger, chance, requests } = this.#parts
    const name = `${this.#name}-secret`
    const fact = ledger.secrets.get(name) ?? new Fact<number | null>(name, null)
    ledger.secrets.set(name, fact)
    const [now, ...others] = fact.values
    if (now === undefined || others.length > 0) return
    const path = `${settingsPaths.secrets}/${name}`
    if (now !== null && chance.below(4) === 0) {
      const send = () => ask('DELETE', path)
      return requests.make({ ...removal(fact), send })
    }
    const value = randomBytes(9).toString('hex')
    const post = keyed(ask, settingsPaths.secrets, { name, value, hosts: ['api.example.com'] })
    return requests.make({
      send: now === null ? post : () => ask('PUT', path, { json: { value } }),
      begin: () => fact.mayBecome((version) => (now === null || version === null ? 1 : version + 1)),
      acknowledge: ({ secret_id: id, version }) => {
        fact.is(version)
        ledger.expectEvent(eventKey(now === null ? 'secret.created' : 'secret.replaced', id, version))
      },
      expected: [now === null ? 201 : 200],
      mustBeKnown: now === null,
    })
  }

  #key(): Promise<void> {
    const { ledger, chance } = this.#parts
    const own = [...ledger.keys.values()].filter(({ worker, state }) => worker === this.#name && state.isKnown('valid'))
    if (own.length === 0 || (own.length < keysMax && chance.below(3) === 0)) return this.#createKey()
    const key = chance.pick(own)
    return chance.below(2) === 0 ? this.#rotateKey(key) : this.#revokeKey(key)
  }

  #createKey(): Promise<void> {
    const { ask, ledger, requests } = this.#parts
    return requests.make({
      send: keyed(ask, settingsPaths.keys, { name: this.#name, scopes: ['runtime:read'] }),
      acknowledge: ({ key_id: id, key: secret }) => {
        ledger.keys.set(id, { id, worker: this.#name, state: new Fact(id, 'valid'), secret })
        ledger.expectEvent(eventKey('key.created', id))
      },
      mustBeKnown: true,
    })
  }

  #rotateKey(known: KnownKey): Promise<void> {
    const { ask, ledger, requests } = this.#parts
    return requests.make({
      send: keyed(ask, `${settingsPaths.keys}/${known.id}/rotate`, { overlap_secs: 0 }),
      acknowledge: ({ key }) => {
        ledger.deadSecrets.push(known.secret)
        known.secret = key
        ledger.expectEvent(eventKey('key.rotated', known.id))
      },
      expected: [200],
      mustBeKnown: true,
    })
  }

  #revokeKey({ id, state }: KnownKey): Promise<void> {
    const { ask, requests } = this.#parts
    return requests.make({
      send: () => ask('DELETE', `${settingsPaths.keys}/${id}`),
      begin: () => state.mayBecome(() => 'revoked'),
      acknowledge: () => state.is('revoked'),
      expected: [204],
      expectedAgain: [404],
      mustBeKnown: false,
    })
  }
}

/** Returns a removal by name. It may be repeated if nothing is left to remove. */
function removal<Value>(fact: Fact<Value | null>): Omit<Change, 'send'> {
  return {
    begin: () => fact.mayBecome(() => null),
    acknowledge: () => fact.is(null),
    expected: [204],
    expectedAgain: [404],
    mustBeKnown: false,
  }
}
