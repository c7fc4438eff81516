import { basename } from 'node:path'
import { shareOf } from '@holt/testkit'
import { describe, expect } from 'vitest'
import { service } from './facts.ts'
import { allFiles, ofTheClass } from './files-of-run.ts'

/** A class of isolation. */
export type IsolationClass = 'gvisor' | 'container'

/** Both classes. */
export const classes = ['gvisor', 'container'] as const

/**
 * The share of the other files that a short run also runs in `container`. Most test the same guest.
 */
const containerShare = 1 / 8

/**
 * Runs the same tests in both classes. A short run has most files in one class only. A class that
 * this machine cannot run is skipped with the reason in the title. In CI it runs and fails, because
 * nothing may be skipped there.
 */
export function describeClasses(name: string, tests: (isolation: IsolationClass) => void): void {
  const available = classes.every((isolation) => service.unavailable[isolation] === null)
  for (const isolation of available ? classesOf(testName()) : classes) {
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
 * Returns the classes in which this run has a file. A chaos test has one of them in a short run, as
 * the seed decides: an attack goes through the same service in both.
 */
function classesOf(name: string): readonly IsolationClass[] {
  const names = allFiles()
  if (!names.includes(name)) return shareOf(classes, 1 / 2, `class of ${name}`)
  const others = names.filter((file) => !ofTheClass.includes(file))
  const inContainer = shareOf(others, containerShare, 'files in the class container')
  return ofTheClass.includes(name) || inContainer.includes(name) ? classes : ['gvisor']
}
