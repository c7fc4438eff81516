import { type RuntimeState, runtimeStates } from '@holt/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { endedStates, hasEnded, isAlive, mayFollow, transitions } from '../../../src/foundation/rows/states.ts'

const state = fc.constantFrom(...runtimeStates)

test('every state is in the table, and every transition leads to a state', () => {
  expect(Object.keys(transitions).sort()).toEqual([...runtimeStates].sort())
  for (const next of Object.values(transitions).flat()) expect(runtimeStates).toContain(next)
})

test('exactly the ended states have no transition', () => {
  expect(runtimeStates.filter(hasEnded).sort()).toEqual([...endedStates].sort())
})

test('every walk stays ended, begins once, and returns to running only through a resume', () => {
  fc.assert(
    fc.property(fc.array(state, { maxLength: 50 }), (wishes) => {
      const visited: RuntimeState[] = ['starting']
      for (const wish of wishes) {
        const now = visited.at(-1) ?? 'starting'
        if (!mayFollow(now, wish)) continue
        expect(hasEnded(now)).toBe(false)
        expect(wish).not.toBe('starting')
        if (wish === 'running') expect(['starting', 'pausing', 'resuming']).toContain(now)
        visited.push(wish)
      }
    }),
  )
})

test('every state can reach an end, and every live state can be deleted', () => {
  const reaches = (from: RuntimeState, seen: readonly RuntimeState[]): boolean =>
    hasEnded(from) || transitions[from].some((to) => !seen.includes(to) && reaches(to, [...seen, to]))
  for (const from of runtimeStates) {
    expect(reaches(from, [from])).toBe(true)
    expect(mayFollow(from, 'terminating')).toBe(isAlive(from))
  }
})
