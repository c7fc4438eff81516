import { FakeEngine, type FakeVerb } from '@holt/engine-testkit/fake'

/** An engine that counts its verbs, and fails or holds up the next one of a kind. */
export function steeredEngine() {
  const counts: Partial<Record<FakeVerb, number>> = {}
  const next: Partial<Record<FakeVerb, () => Promise<void> | void>> = {}
  const engine = new FakeEngine({
    before: async (verb) => {
      counts[verb] = (counts[verb] ?? 0) + 1
      const act = next[verb]
      delete next[verb]
      await act?.()
    },
  })
  /** Holds the next verb of a kind up, from when it is `reached` until `release` is called. */
  const hold = (verb: FakeVerb) => {
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    next[verb] = () => {
      reach()
      return held
    }
    return { reached, release }
  }
  return { engine, counts, next, hold }
}
