import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { shareOf } from '@holt/testkit'
import { describe, expect } from 'vitest'
import { service } from './facts.ts'

/** A class of isolation. */
export type IsolationClass = 'gvisor' | 'container'

/** Both classes. */
export const classes = ['gvisor', 'container'] as const

/** The files whose subject is the class: every run has them in both. */
const ofTheClass: readonly string[] = [
  ...['isolation', 'limits', 'disk-full', 'pools'],
  ...['egress', 'egress-bypass', 'egress-clients'],
]

/**
 * The share of the other files that a short run also runs in `container`. Most test the same guest.
 */
const containerShare = 1 / 3

/**
 * Runs the same tests in both classes. A short run has most files in `gvisor` only. A class that
 * this machine cannot run is skipped with the reason in the title. In CI it runs and fails, because
 * nothing may be skipped there.
 */
export function describeClasses(name: string, tests: (isolation: IsolationClass) => void): void {
  const onlyGvisor = service.unavailable.gvisor === null && !isInBoth(testName())
  for (const isolation of onlyGvisor ? (['gvisor'] as const) : classes) {
    const reason = service.unavailable[isolation]
    const skip = reason !== null && !process.env.CI
    describe.skipIf(skip)(`${name} [${isolation}]${skip ? ` skipped: ${reason}` : ''}`, () => tests(isolation))
  }
}

/** Returns the name of the file of tests that is being read, without its ending. */
function testName(): string {
  const path = expect.getState().testPath
  if (path === undefined) throw new Error('describeClasses is for files of tests')
  return basename(path, '.test.ts')
}

/**
 * Returns true if this run has the file in both classes. The chaos tests are few, and always run in
 * both.
 */
function isInBoth(name: string): boolean {
  const files = readdirSync(join(import.meta.dirname, '..')).filter((file) => file.endsWith('.test.ts'))
  const others = files.map((file) => basename(file, '.test.ts')).filter((file) => !ofTheClass.includes(file))
  return !others.includes(name) || shareOf(others.sort(), containerShare, 'files in the class container').includes(name)
}
