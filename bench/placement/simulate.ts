import { Chance } from '@holt/testkit'
import { defaultTemplate, ModelHost, type Sizes } from './model.ts'
import type { Create, Policy } from './policies.ts'

/** A load on the model. Times are in milliseconds. */
export interface Load {
  readonly sizes: Sizes
  readonly createsPerSecond: number
  readonly warmUpMs: number
  readonly measuredMs: number
  /** The templates beside the default one. They are asked for by Zipf's law. */
  readonly templates: number
  readonly burst: { readonly creates: number; readonly overMs: number; readonly atMs: number }
  /** The share of hosts that are lost at once, in the middle of the measured time. */
  readonly lostShare: number
  /** The share of hosts that take twice as long. */
  readonly slowShare: number
  readonly seed: number
}

/** The sums of one kind of create: the load, or the burst. */
interface Outcome {
  readonly creates: number
  readonly pooledShare: number
  readonly refused: number
  readonly retries: number
  readonly probesEach: number
  /** In milliseconds. */
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

/** The result of a simulation. */
export interface Simulated {
  readonly load: Outcome
  readonly burst: Outcome
  readonly fetches: number
  /** The largest share of used places divided by the mean, at the end. */
  readonly imbalance: number
}

/** The hop to another host, in milliseconds. */
const hopMs = 1
/** The time after which a connection to a lost host is given up. */
const connectMs = 1000
/** The time after which the others see that a host is lost. */
const suspectMs = 15_000
/** The part of all creates that are of the default template. */
const defaultShare = 0.8
/** The part of all places that are in use, at rest. */
const usedShare = 1 / 3

/** Runs a policy against a load. The same seed gives the same result. */
export function simulate(load: Load, policyOf: (chance: Chance) => Policy): Simulated {
  const chance = new Chance(load.seed)
  const hosts = makeHosts(load, chance)
  const policy = policyOf(chance)
  const ends = new Ends(hosts, load, chance)
  const tallies = { load: new Tally(), burst: new Tally() }
  const lostAt = load.warmUpMs + load.measuredMs / 2
  let ready: readonly ModelHost[] = hosts
  let alive = ready
  let isLossDue = true
  let fetchesBefore = 0
  for (const { at, template, burst } of arrivals(load, chance)) {
    ends.until(at)
    if (at >= lostAt && isLossDue) {
      isLossDue = false
      loseHosts(hosts, load, chance)
      alive = hosts.filter(({ lost }) => !lost)
    }
    if (at >= lostAt + suspectMs) ready = alive
    const entry = chance.pick(alive)
    const create: Create = { id: `create ${at}`, template, at, entry }
    const done = place(create, policy(create, ready))
    if (done.host !== null) ends.add(done.host, at)
    if (at < load.warmUpMs) fetchesBefore = sum(hosts)
    else tallies[burst ? 'burst' : 'load'].add(done)
  }
  const used = alive.map((host) => host.used)
  const mean = used.reduce((total, one) => total + one, 0) / used.length
  return {
    load: tallies.load.outcome(),
    burst: tallies.burst.outcome(),
    fetches: sum(hosts) - fetchesBefore,
    imbalance: Math.max(...used) / mean,
  }
}

interface Done {
  readonly host: ModelHost | null
  readonly ms: number
  readonly fromPool: boolean
  readonly retries: number
  readonly probes: number
}

/** Tries the hosts of a choice, one after the refusal of the other. */
function place({ template, at, entry }: Create, choice: ReturnType<Policy>): Done {
  let { ms } = choice
  let retries = 0
  for (const host of choice.hosts) {
    if (host !== entry) ms += host.lost ? connectMs : hopMs
    const made = host.lost ? null : host.create(template, at + ms)
    if (made !== null) {
      return { host, ms: made.doneAt - at, fromPool: made.fromPool, retries, probes: choice.probes }
    }
    retries += 1
  }
  return { host: null, ms, fromPool: false, retries, probes: choice.probes }
}

class Tally {
  readonly #done: Done[] = []

  add(done: Done): void {
    this.#done.push(done)
  }

  outcome(): Outcome {
    const made = this.#done.filter(({ host }) => host !== null)
    const times = made.map(({ ms }) => ms).sort((one, other) => one - other)
    const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN
    const total = (of: (done: Done) => number) => this.#done.reduce((all, done) => all + of(done), 0)
    return {
      creates: this.#done.length,
      pooledShare: made.filter(({ fromPool }) => fromPool).length / made.length,
      refused: this.#done.length - made.length,
      retries: total(({ retries }) => retries),
      probesEach: total(({ probes }) => probes) / this.#done.length,
      p50: at(0.5),
      p95: at(0.95),
      p99: at(0.99),
    }
  }
}

interface Arrival {
  readonly at: number
  readonly template: number
  readonly burst: boolean
}

/** The creates in their order: a Poisson process, and the burst of one template that nobody has. */
function arrivals(load: Load, chance: Chance): readonly Arrival[] {
  const { warmUpMs, measuredMs, burst, templates } = load
  const zipf = zipfOf(templates)
  const all: Arrival[] = []
  for (let at = 0; at < warmUpMs + measuredMs; at += (-Math.log(1 - chance.next()) * 1000) / load.createsPerSecond) {
    const template = chance.next() < defaultShare ? defaultTemplate : 1 + zipf(chance.next())
    all.push({ at, template, burst: false })
  }
  for (let at = 0; at < burst.creates; at++) {
    all.push({ at: warmUpMs + burst.atMs + chance.next() * burst.overMs, template: templates + 1, burst: true })
  }
  return all.sort((one, other) => one.at - other.at)
}

/** Returns a function from a number of 0 to 1 to an index below `count`, by Zipf's law. */
function zipfOf(count: number): (draw: number) => number {
  const sums: number[] = []
  for (let rank = 1; rank <= count; rank++) sums.push((sums.at(-1) ?? 0) + 1 / rank)
  const all = sums.at(-1) ?? 1
  return (draw) =>
    Math.max(
      0,
      sums.findIndex((sumToHere) => sumToHere >= draw * all),
    )
}

function makeHosts(load: Load, chance: Chance): readonly ModelHost[] {
  return Array.from({ length: load.sizes.hosts }, (_, index) => {
    const host = new ModelHost(index, load.sizes, chance.next() < load.slowShare ? 2 : 1)
    host.used = Math.round(load.sizes.places * usedShare)
    return host
  })
}

function loseHosts(hosts: readonly ModelHost[], load: Load, chance: Chance): void {
  for (const host of chance.some(hosts, Math.round(hosts.length * load.lostShare))) host.lost = true
}

function sum(hosts: readonly ModelHost[]): number {
  return hosts.reduce((all, { fetches }) => all + fetches, 0)
}

/**
 * The ends of runtimes, by slots of ten milliseconds. Lives are exponential, with a mean that keeps
 * the used share.
 */
class Ends {
  readonly #slots: ModelHost[][] = []
  #next = 0
  readonly #meanMs: number
  readonly #chance: Chance

  constructor(hosts: readonly ModelHost[], load: Load, chance: Chance) {
    this.#chance = chance
    this.#meanMs = ((load.sizes.hosts * load.sizes.places * usedShare) / load.createsPerSecond) * 1000
    for (const host of hosts) for (let one = 0; one < host.used; one++) this.add(host, 0)
  }

  add(host: ModelHost, from: number): void {
    const slot = Math.floor((from - Math.log(1 - this.#chance.next()) * this.#meanMs) / slotMs)
    const hosts = this.#slots[slot] ?? []
    hosts.push(host)
    this.#slots[slot] = hosts
  }

  until(at: number): void {
    for (; this.#next * slotMs <= at; this.#next += 1) {
      for (const host of this.#slots[this.#next] ?? []) host.used -= 1
      delete this.#slots[this.#next]
    }
  }
}

const slotMs = 10
