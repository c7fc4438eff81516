import { type Facts, forecast } from '@holt/placement'
import { HoltError } from '@holt/protocol'
import fc from 'fast-check'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import type { Cannot, Need, OfferAnswer } from '../../../src/fleet/placement/need.ts'
import { PlacementMetrics } from '../../../src/fleet/placement/placement-metrics.ts'
import { Placer, type Wanted } from '../../../src/fleet/placement/placer.ts'
import { newHostRow } from '../../../src/foundation/host/host-row.ts'
import type { HostRow, HostState } from '../../../src/foundation/store/tables.ts'
import { keepingLog } from '../../support/start-test-server.ts'

const need: Need = {
  ...{ projectId: 'pr1', isolation: 'gvisor', image: 'sha256:1', checkpoint: null, restoreOnly: false, classId: null },
  ...{ memoryMiB: 1024, diskMiB: 4096, bytes: { image: 1, checkpoint: 1 }, spread: null, shape: null },
}
const wanted: Wanted = { id: 'rq1', homeKey: 'tp1', need }

/** A host of the model. */
interface ModelHost {
  readonly state: HostState
  readonly isSilent: boolean
  /** True if no probe is answered. */
  readonly isCut: boolean
  readonly cannot: Cannot | null
  /** True if it refuses creates in spite of its offer. */
  readonly refuses: boolean
  readonly membersWaiting: number
  readonly promisedShare: number
  /** Default: it restores no memory of others. */
  readonly classId?: string
}

const idle: ModelHost = {
  ...{ state: 'ready', isSilent: false, isCut: false, cannot: null, refuses: false },
  ...{ membersWaiting: 0, promisedShare: 0 },
}

const modelHosts = fc.array(
  fc.record<ModelHost>({
    state: fc.constantFrom<HostState>('ready', 'ready', 'ready', 'cordoned', 'draining', 'joining'),
    isSilent: fc.boolean(),
    isCut: fc.boolean(),
    cannot: fc.constantFrom<Cannot | null>(null, null, null, 'full', 'unsupported', 'missing', 'state'),
    refuses: fc.boolean(),
    membersWaiting: fc.nat(3),
    promisedShare: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  { minLength: 1, maxLength: 12 },
)

/** Places runtimes among hosts of the model, of which the first is the entry. */
function placeAmong(hosts: readonly ModelHost[], clock = { ms: 0 }, wants: Wanted = wanted) {
  const sent: string[] = []
  const asked: string[] = []
  const hostOf = (hostId: string) => hosts[Number(hostId.slice(2))] ?? idle
  const factsOf = ({ cannot, membersWaiting, promisedShare }: ModelHost): Facts => ({
    ...{ can: cannot === null, membersWaiting, promisedShare, createsUnderWay: 0, restoresAhead: 0 },
    ...{ restoresAtOnce: 4, bytesToFetch: 0, fetchBytesPerMs: 1, sameSpread: 0 },
  })
  const offerOf = (host: ModelHost): OfferAnswer => ({
    ...{ forecast: forecast(factsOf(host)), cannot: host.cannot, createsUnderWay: 0 },
  })
  const make = async (hostId: string) => {
    sent.push(hostId)
    if (hostOf(hostId).refuses) throw new HoltError('capacity_exhausted', 'full')
    return hostId
  }
  const rows = hosts.map(({ state, classId }, at) => {
    const row = newHostRow({ hostId: `ho${at}`, bootId: 'boot', version: '1', at: 1 })
    return { ...row, state, class_id: classId ?? null } as HostRow
  })
  const own = hostOf('ho0')
  const placer = new Placer({
    hosts: { rows, silentMs: (hostId) => (hostOf(hostId).isSilent ? 20_000 : null) },
    ownHostId: 'ho0',
    own: {
      isReady: own.state === 'ready',
      about: async () => ({ facts: factsOf(own), cannot: own.cannot }),
      offer: async () => offerOf(own),
      arrived: () => {},
    },
    ask: async (hostId) => {
      asked.push(hostId)
      if (hostOf(hostId).isCut) throw new Error('no answer')
      return offerOf(hostOf(hostId))
    },
    metrics: new PlacementMetrics(new Registry()),
    log: keepingLog().log,
    draw: () => 0.5,
    monotonic: () => clock.ms,
  })
  const place = async () => {
    try {
      return { made: await placer.place(wants, { here: () => make('ho0'), there: make }), error: null }
    } catch (error) {
      return { made: null, error: error as HoltError }
    }
  }
  return { placer, sent, asked, place, hostOf }
}

test('a runtime is made on a host that takes it, and on no other', async () => {
  const property = fc.asyncProperty(modelHosts, async (hosts) => {
    const { sent, asked, place, hostOf } = placeAmong(hosts)
    const { made, error } = await place()
    const isUsable = (hostId: string) => hostOf(hostId).state === 'ready' && !hostOf(hostId).isSilent
    expect([...sent, ...asked].every(isUsable)).toBe(true)
    expect(new Set(sent).size).toBe(sent.length)
    expect(sent.length).toBeLessThanOrEqual(3)
    expect(asked).not.toContain('ho0')
    if (made === null) expect(['capacity_exhausted', 'unavailable']).toContain(error?.code)
    else expect([hostOf(made).refuses, made]).toEqual([false, sent.at(-1)])
    const others = sent.filter((hostId) => hostId !== 'ho0')
    expect(others.every((hostId) => hostOf(hostId).cannot !== 'full' || hostOf(hostId).isCut)).toBe(true)
    if (hosts.every(({ state }) => state !== 'ready')) expect(error?.details?.reason).toBe('no_ready_host')
  })
  await fc.assert(property, { numRuns: 500 })
})

test('a fleet without room says so, and one whose hosts all refuse says what the last one said', async () => {
  const full = placeAmong([idle, idle].map((host) => ({ ...host, cannot: 'full' as const })))
  const { error } = await full.place()
  expect([error?.code, error?.details?.retry_after_secs, full.sent]).toEqual(['capacity_exhausted', 5, []])
  const refusing = placeAmong(Array.from({ length: 6 }, () => ({ ...idle, refuses: true })))
  expect((await refusing.place()).error?.message).toBe('full')
  expect(refusing.sent).toHaveLength(3)
})

test('a memory snapshot is restored on hosts of its class alone', async () => {
  const wants = { ...wanted, need: { ...need, checkpoint: 'ck1', restoreOnly: true, classId: 'c1' } }
  const hosts = [idle, { ...idle, classId: 'c2' }, { ...idle, classId: 'c1' }, idle]
  expect((await placeAmong(hosts, { ms: 0 }, wants).place()).made).toBe('ho2')
  const { error } = await placeAmong([idle, { ...idle, classId: 'c2' }], { ms: 0 }, wants).place()
  expect(error?.code).toBe('snapshot_incompatible')
})

test('a host with a waiting runtime asks nobody, and neither does the only ready one', async () => {
  const pooled = placeAmong([{ ...idle, membersWaiting: 1 }, idle, idle])
  expect([(await pooled.place()).made, pooled.asked]).toEqual(['ho0', []])
  const alone = placeAmong([idle, { ...idle, state: 'cordoned' }])
  expect([(await alone.place()).made, alone.asked]).toEqual(['ho0', []])
})

test('a host that has not answered is asked again after five seconds', async () => {
  const clock = { ms: 0 }
  const { asked, place } = placeAmong([{ ...idle, state: 'cordoned' }, { ...idle, isCut: true }, idle], clock)
  expect((await place()).made).toBe('ho2')
  asked.length = 0
  expect([(await place()).made, asked]).toEqual(['ho2', ['ho2']])
  clock.ms = 5_001
  asked.length = 0
  expect((await place()).made).toBe('ho2')
  expect(asked.toSorted()).toEqual(['ho1', 'ho2'])
})

test('hosts that answer no probe in time get the runtime nevertheless', async () => {
  const cut = { ...idle, isCut: true }
  const { asked, sent, place } = placeAmong([{ ...idle, state: 'cordoned' }, cut, { ...cut, refuses: true }])
  expect((await place()).made).toBe('ho1')
  expect([asked.toSorted(), sent.at(-1)]).toEqual([['ho1', 'ho2'], 'ho1'])
})

test.each(['ho3', 'ho5'])('the near host %s is among those that are asked', async (near) => {
  const { placer } = placeAmong(Array.from({ length: 6 }, () => idle))
  const { offers } = await placer.order({ ...wanted, near: [near] })
  expect(offers.map(({ hostId }) => hostId)).toContain(near)
})
