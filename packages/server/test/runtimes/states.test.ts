import { type RuntimeState, runtimeStates } from '@holt/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { endedStates, hasEnded, mayFollow, transitions } from '../../src/runtimes/states.ts'

const state = fc.constantFrom(...runtimeStates)

test('every state is in the table and every step leads to a state', () => {
  expect(Object.keys(transitions).sort()).toEqual([...runtimeStates].sort())
  for (const next of Object.values(transitions).flat()) expect(runtimeStates).toContain(next)
})

test('the ended states are those without a step', () => {
  expect(runtimeStates.filter(hasEnded).sort()).toEqual([...endedStates].sort())
})

test('every walk ends, never visits a state twice, and stays ended', () => {
  fc.assert(
    fc.property(fc.array(state, { maxLength: 50 }), (wishes) => {
      const visited: RuntimeState[] = ['starting']
      for (const wish of wishes) {
        const now = visited.at(-1) ?? 'starting'
        if (mayFollow(now, wish)) {
          expect(hasEnded(now)).toBe(false)
          visited.push(wish)
        }
      }
      expect(new Set(visited).size).toBe(visited.length)
    }),
  )
})

test('every state can be left towards an end', () => {
  const reaches = (from: RuntimeState): boolean => hasEnded(from) || transitions[from].some(reaches)
  for (const from of runtimeStates) expect(reaches(from)).toBe(true)
})
