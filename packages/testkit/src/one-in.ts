import { Chance } from './chance.ts'
import { seedOf } from './draw-share.ts'
import { testLength } from './test-length.ts'

/** Registers a test, as `it` of vitest does. */
export type Register = (name: string, test: () => unknown, timeoutMs?: number) => void

/**
 * Returns a function that registers tests as `register` does. In a short run it registers only one
 * of `count` tests in turn, and the seed and the subject decide with which it begins. Over `count`
 * beginnings every test is registered.
 */
export function oneIn(count: number, subject: string, register: Register): Register {
  if (testLength() !== 'short') return register
  let left = new Chance(seedOf(subject)).below(count)
  return (...test) => {
    if (left === 0) register(...test)
    left = (left + count - 1) % count
  }
}
