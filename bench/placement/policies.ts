import { type Facts, forecast, homesWanted, orderOffers, placeCreate, rankHosts } from '@holt/placement'
import type { Chance } from '@holt/testkit'
import type { ModelHost } from './model.ts'

/** A create of the model. */
export interface Create {
  readonly id: string
  readonly template: number
  readonly at: number
  /** The host that received the request. */
  readonly entry: ModelHost
}

/** A policy's decision: the hosts to try in this order, and its cost. */
interface Choice {
  readonly hosts: readonly ModelHost[]
  readonly probes: number
  /** The time that the decision took, in milliseconds. */
  readonly ms: number
}

/** A way to place creates. `ready` are the hosts that the policy believes to be there. */
export type Policy = (create: Create, ready: readonly ModelHost[]) => Choice

/** A probe and its answer, in milliseconds. */
const probeMs = 0.5
/** The wait for a probe that nobody answers, in milliseconds. */
const unansweredMs = 100
const tries = 3

/** Any host. */
export function anyHost(chance: Chance): Policy {
  return (_, ready) => ({ hosts: draw(chance, ready, tries), probes: 0, ms: 0 })
}

/** The best of all hosts by facts that are up to `ageMs` old. Nothing is reserved. */
export function bestOfAll(ageMs: number): Policy {
  const old = oldFacts(ageMs)
  return (create, ready) => ({ hosts: byForecast(create, ready, old), probes: 0, ms: 0 })
}

/**
 * The best of three by facts that are up to `ageMs` old, corrected by what this policy has placed
 * since.
 */
export function bestOfThree(chance: Chance, ageMs: number): Policy {
  const old = oldFacts(ageMs)
  return (create, ready) => {
    const hosts = byForecast(create, draw(chance, ready, tries), old)
    const [first] = hosts
    if (first !== undefined) old.reserve(first, create)
    return { hosts, probes: 0, ms: 0 }
  }
}

/** The best of three by live probes. */
export function bestOfThreeProbed(chance: Chance): Policy {
  return (create, ready) => {
    const drawn = draw(chance, ready, tries)
    const { offers, ms } = probe(drawn, create)
    const byId = new Map(drawn.map((host) => [host.hostId, host]))
    return { hosts: known(orderOffers(offers, create.id), byId), probes: tries, ms }
  }
}

/** The policy of the service, `placeCreate`. */
export function ownHomes(chance: Chance): Policy {
  const rates = new Rates()
  const directory = new Directory()
  return (create, ready) => {
    const { entry, template, at, id } = create
    const createsPerSecond = rates.count(entry, template, at)
    const { byId, ranked } = directory.of(ready, template)
    let placement = placeCreate({
      own: { ready: byId.has(entry.hostId), facts: entry.facts(template, at) },
      ranked,
      homes: homesWanted({ createsPerSecond, entries: ready.length, readyHosts: ready.length }),
      draw: chance.next(),
      createId: id,
    })
    let [probes, ms] = [0, 0]
    for (;;) {
      const { step } = placement
      if (step.type === 'here') return { hosts: [entry], probes, ms }
      if (step.type !== 'probe') return { hosts: step.type === 'refuse' ? [] : known(step.hostIds, byId), probes, ms }
      const asked = probe(known(step.hostIds, byId), create)
      probes += step.hostIds.length
      ms += asked.ms
      placement = placement.after(asked.offers)
    }
  }
}

/** Keeps the order of the hosts of each template while the same hosts are there. */
class Directory {
  #ready: readonly ModelHost[] = []
  #byId: ReadonlyMap<string, ModelHost> = new Map()
  readonly #ranked = new Map<number, readonly string[]>()

  of(ready: readonly ModelHost[], template: number) {
    if (ready !== this.#ready) {
      this.#ready = ready
      this.#byId = new Map(ready.map((host) => [host.hostId, host]))
      this.#ranked.clear()
    }
    const ranked = this.#ranked.get(template) ?? rankHosts(`template ${template}`, [...this.#byId.keys()])
    this.#ranked.set(template, ranked)
    return { byId: this.#byId, ranked }
  }
}

/** Counts the creates a second of each template at each entry, over about a minute. */
class Rates {
  readonly #kept = new Map<string, { at: number; rate: number }>()

  count({ hostId }: ModelHost, template: number, at: number): number {
    const key = `${hostId} ${template}`
    const { at: before, rate } = this.#kept.get(key) ?? { at, rate: 0 }
    const now = rate * Math.exp((before - at) / windowMs) + 1000 / windowMs
    this.#kept.set(key, { at, rate: now })
    return now
  }
}

const windowMs = 60_000

function probe(hosts: readonly ModelHost[], { template, at }: Create) {
  const offers = hosts.filter(({ lost }) => !lost).map((host) => host.offer(template, at))
  return { offers, ms: offers.length === hosts.length ? probeMs : unansweredMs }
}

function known(hostIds: readonly string[], byId: ReadonlyMap<string, ModelHost>): readonly ModelHost[] {
  return hostIds.flatMap((hostId) => byId.get(hostId) ?? [])
}

interface OldFacts {
  of(host: ModelHost, create: Create): Facts
  reserve(host: ModelHost, create: Create): void
}

/** Facts that are read again only after `ageMs`. */
function oldFacts(ageMs: number): OldFacts {
  let readAt = Number.NEGATIVE_INFINITY
  const kept = new Map<string, Facts>()
  const of = (host: ModelHost, { template, at }: Create) => {
    if (at - readAt > ageMs) {
      readAt = at
      kept.clear()
    }
    const key = `${host.hostId} ${template}`
    const facts = kept.get(key) ?? host.facts(template, at)
    kept.set(key, facts)
    return facts
  }
  const reserve = (host: ModelHost, create: Create) => {
    const facts = of(host, create)
    const membersWaiting = Math.max(0, facts.membersWaiting - 1)
    const restoresAhead = facts.restoresAhead + 1
    kept.set(`${host.hostId} ${create.template}`, { ...facts, membersWaiting, restoresAhead })
  }
  return { of, reserve }
}

/** The first hosts by forecast, without sorting all of them. */
function byForecast(create: Create, hosts: readonly ModelHost[], old: OldFacts): readonly ModelHost[] {
  const best: { host: ModelHost; ms: number }[] = []
  for (const host of hosts) {
    const ms = forecast(old.of(host, create))?.totalMs
    if (ms === undefined || (best.length === tries && ms >= (best.at(-1)?.ms ?? 0))) continue
    best.push({ host, ms })
    best.sort((one, other) => one.ms - other.ms)
    best.length = Math.min(best.length, tries)
  }
  return best.map(({ host }) => host)
}

function draw(chance: Chance, hosts: readonly ModelHost[], count: number): readonly ModelHost[] {
  const drawn = new Set<ModelHost>()
  while (drawn.size < Math.min(count, hosts.length)) drawn.add(chance.pick(hosts))
  return [...drawn]
}
