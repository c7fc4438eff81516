import { anyHost, bestOfAll, bestOfThree, bestOfThreeProbed, ownHomes, type Policy } from '../placement/policies.ts'
import { type Load, type Simulated, simulate } from '../placement/simulate.ts'
import { compareFigures, type Findings } from '../support/report.ts'
import { type Row, withoutPool } from './row.ts'

type PolicyOf = (chance: Parameters<typeof anyHost>[0]) => Policy

/** A thousand hosts with a third of all places in use, and a burst of a template that none has. */
const fleet: Load = {
  sizes: {
    hosts: 1000,
    places: 200,
    poolOfDefault: 64,
    poolOfOthers: 4,
    restoresAtOnce: 8,
    restoreMs: 250,
    fetchMs: 1500,
    cachedImages: 40,
  },
  createsPerSecond: 1500,
  warmUpMs: 10_000,
  measuredMs: 12_000,
  templates: 2000,
  burst: { creates: 2000, overMs: 500, atMs: 8000 },
  lostShare: 0,
  slowShare: 0,
  seed: 20_261_129,
}

/** The policies that are compared, and the changed fleets in which the service's own runs. */
const cases: readonly { readonly name: string; readonly load: Load; readonly policy: PolicyOf }[] = [
  { name: 'own homes', load: fleet, policy: ownHomes },
  { name: 'any host', load: fleet, policy: anyHost },
  { name: 'best of three, probed', load: fleet, policy: bestOfThreeProbed },
  { name: 'best of three, facts of 2 s', load: fleet, policy: (chance) => bestOfThree(chance, 2000) },
  { name: 'best of three, facts of 10 s', load: fleet, policy: (chance) => bestOfThree(chance, 10_000) },
  { name: 'best of all, facts of 2 s', load: fleet, policy: () => bestOfAll(2000) },
  { name: 'own homes, 5 % of the hosts lost', load: { ...fleet, lostShare: 0.05 }, policy: ownHomes },
  { name: 'own homes, 10 % of the hosts slow', load: { ...fleet, slowShare: 0.1 }, policy: ownHomes },
]

/** B18: the policy of placement in a simulated fleet. It measures no part of this machine. */
export const b18: Row = {
  id: 'B18',
  title: 'placement of creates in a simulated fleet of 1,000 hosts, against other policies',
  environment: withoutPool,
  measure: async () => findingsOf(cases.map(({ name, load, policy }) => ({ name, result: simulate(load, policy) }))),
}

interface Ran {
  readonly name: string
  readonly result: Simulated
}

function findingsOf(ran: readonly Ran[]): Findings {
  const [own, any] = ran
  const baseline = { name: 'any host, simulated', value: any?.result.load.p95 ?? null }
  return {
    series: [],
    verdicts: [
      compareFigures({
        what: 'create in a simulated fleet, p95',
        unit: 'ms',
        value: own?.result.load.p95 ?? null,
        baseline,
        target: { of: 'ratio', at: 'most', bound: 0.1 },
      }),
    ],
    absent: [],
    notes: ['Times of the model, not of this machine.', ...ran.map(lineOf)],
  }
}

function lineOf({ name, result: { load, burst, fetches, imbalance } }: Ran): string {
  const refused = load.refused + burst.refused
  const ms = (value: number) => `${Math.round(value)} ms`
  return [
    `${name}: pool hits ${(load.pooledShare * 100).toFixed(1)} %`,
    `p50 ${ms(load.p50)}, p95 ${ms(load.p95)}, p99 ${ms(load.p99)}`,
    `${fetches} fetches, ${refused} refused, ${load.retries + burst.retries} retries`,
    `${load.probesEach.toFixed(1)} probes each, imbalance ${imbalance.toFixed(2)}`,
    `burst p50 ${ms(burst.p50)}, p95 ${ms(burst.p95)}`,
  ].join('; ')
}
