import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Facts, forecast, type Offer, orderOffers, placeCreate, rankHosts } from '../src/index.ts'

const facts: fc.Arbitrary<Facts> = fc.record({
  can: fc.boolean(),
  membersWaiting: fc.nat(8),
  createsUnderWay: fc.nat(40),
  restoresAhead: fc.nat(80),
  restoresAtOnce: fc.integer({ min: 1, max: 16 }),
  bytesToFetch: fc.nat(2 ** 30),
  fetchBytesPerMs: fc.integer({ min: 1, max: 2 ** 20 }),
  promisedShare: fc.double({ min: 0, max: 1, noNaN: true }),
  sameSpread: fc.nat(5),
})

const hostId = fc.stringMatching(/^ho[a-z0-9]{2,20}$/)

const hostIds = fc.uniqueArray(hostId, { minLength: 1, maxLength: 40 })

const offers = fc.uniqueArray(fc.record({ hostId, facts, createsUnderWay: fc.nat(9) }), {
  selector: ({ hostId }) => hostId,
  maxLength: 12,
})

function offerOf({ hostId, facts: known, createsUnderWay }: { hostId: string; facts: Facts; createsUnderWay: number }) {
  return { hostId, createsUnderWay, forecast: forecast(known) } satisfies Offer
}

test('a host that cannot run a create is never chosen', () => {
  fc.assert(
    fc.property(offers, fc.string(), (given, createId) => {
      const chosen = orderOffers(given.map(offerOf), createId)
      expect([...chosen].sort()).toEqual(given.flatMap((one) => (one.facts.can ? [one.hostId] : [])).sort())
    }),
  )
})

test('the order of the offers does not matter', () => {
  fc.assert(
    fc.property(offers, fc.string(), fc.func(fc.integer()), (given, createId, shuffle) => {
      const all = given.map(offerOf)
      const shuffled = all.toSorted((one, other) => shuffle(one.hostId) - shuffle(other.hostId))
      expect(orderOffers(shuffled, createId)).toEqual(orderOffers(all, createId))
    }),
  )
})

/** Changes of one input that make a host worse. It can run the create before and after. */
const worse: Readonly<Record<string, (from: Facts) => Facts>> = {
  'creates under way': (from) => ({ ...from, createsUnderWay: from.createsUnderWay + 1 }),
  'restores ahead': (from) => ({ ...from, restoresAhead: from.restoresAhead + from.restoresAtOnce }),
  'bytes to fetch': (from) => ({ ...from, bytesToFetch: from.bytesToFetch + 2 ** 20 }),
  'promised memory': (from) => ({ ...from, promisedShare: from.promisedShare + 0.25 }),
  'the same spread': (from) => ({ ...from, sameSpread: from.sameSpread + 1 }),
}

test.each(Object.entries(worse))('the better of two hosts is chosen: %s', (input, change) => {
  fc.assert(
    fc.property(facts, fc.string(), (known, createId) => {
      // A queue of restores counts only without a pool, and one of creates only with one.
      const membersWaiting = input === 'restores ahead' ? 0 : known.membersWaiting + 1
      const better = { ...known, can: true, membersWaiting, promisedShare: 0.5 + known.promisedShare / 4 }
      const offersOfTwo = [
        { hostId: 'hoWorse', createsUnderWay: 0, forecast: forecast(change(better)) },
        { hostId: 'hoBetter', createsUnderWay: 0, forecast: forecast(better) },
      ]
      expect(orderOffers(offersOfTwo, createId)[0]).toBe('hoBetter')
    }),
  )
})

test('a host that leaves changes the order of no other host', () => {
  fc.assert(
    fc.property(fc.string(), hostIds, fc.nat(), (key, all, index) => {
      const gone = all[index % all.length]
      const left = rankHosts(key, all).filter((hostId) => hostId !== gone)
      expect(
        rankHosts(
          key,
          all.filter((hostId) => hostId !== gone),
        ),
      ).toEqual(left)
    }),
  )
})

test('keys are spread over hosts evenly', () => {
  const all = Array.from({ length: 50 }, (_, index) => `ho${index}`)
  const first = new Map<string, number>()
  for (let key = 0; key < 5000; key++) {
    const [home = ''] = rankHosts(`template ${key}`, all)
    first.set(home, (first.get(home) ?? 0) + 1)
  }
  expect(first.size).toBe(50)
  expect(Math.max(...first.values())).toBeLessThan(160)
})

const draws = fc.double({ min: 0, max: 0.999, noNaN: true })

test('a placement ends: it probes each host at most once, in at most three rounds of two', () => {
  fc.assert(
    fc.property(hostIds, facts, draws, fc.infiniteStream(facts), (all, own, draw, answers) => {
      const create = { own: { ready: true, facts: own }, ranked: rankHosts('a template', all), homes: 2, draw }
      let placement = placeCreate({ ...create, createId: 'rt1' })
      if (placement.step.type === 'here') placement = placement.after([])
      const probed: string[] = []
      while (placement.step.type === 'probe') {
        const asked = placement.step.hostIds
        probed.push(...asked)
        const answer = (host: string) => offerOf({ hostId: host, facts: answers.next().value, createsUnderWay: 0 })
        placement = placement.after(asked.map(answer))
      }
      expect(new Set(probed).size).toBe(probed.length)
      expect(probed.length).toBeLessThanOrEqual(6)
      const sent = placement.step.type === 'send' ? placement.step.hostIds : []
      expect(probed).toEqual(expect.arrayContaining([...sent]))
      expect(placement.step.type).toBe(sent.length === 0 ? 'refuse' : 'send')
    }),
  )
})
