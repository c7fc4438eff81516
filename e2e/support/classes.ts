import { describe } from 'vitest'
import { service } from './facts.ts'

/** A class of isolation. */
export type IsolationClass = 'gvisor' | 'container'

/** Both classes. */
export const classes = ['gvisor', 'container'] as const

/**
 * Runs the same tests in both classes. A class that this machine cannot run is skipped with the reason in the title; in CI nothing may be skipped, so there it
 * runs and fails.
 */
export function describeClasses(name: string, tests: (isolation: IsolationClass) => void): void {
  for (const isolation of classes) {
    const reason = service.unavailable[isolation]
    const skip = reason !== null && !process.env.CI
    describe.skipIf(skip)(`${name} [${isolation}]${skip ? ` skipped: ${reason}` : ''}`, () => tests(isolation))
  }
}
