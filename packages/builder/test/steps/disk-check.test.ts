import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BuildError } from '../../src/errors.ts'
import { checkBase, checkFinished, checkInstalled, filledDisk, stepDiskMiB } from '../../src/steps/disk-check.ts'

const MIB = 2 ** 20

/** The size that a check requires; null if it is content. */
function requiredOf(check: () => void): number | null {
  try {
    check()
    return null
  } catch (error) {
    if (!(error instanceof BuildError)) throw error
    expect(error.code).toBe('disk_too_small')
    expect(error.hint).toContain(`${error.details.required_mib} MiB`)
    return Number(error.details.required_mib)
  }
}

test('the required size is enough when it is requested', () => {
  const size = fc.nat(64 * 1024 * MIB)
  fc.assert(
    fc.property(fc.integer({ min: 64, max: 65_536 }), size, size, (diskMiB, baseBytes, usedBytes) => {
      const checks = [
        (disk: number) => checkBase({ diskMiB: disk, baseBytes }, { runs: false, copiedBytes: 0 }),
        (disk: number) => checkInstalled({ diskMiB: disk, baseBytes, usedBytes }, 1),
        (disk: number) => checkFinished({ diskMiB: disk, sizeBytes: baseBytes }),
      ]
      for (const check of checks) {
        const required = requiredOf(() => check(diskMiB))
        if (required === null) continue
        expect(required).toBeGreaterThan(diskMiB)
        expect(requiredOf(() => check(required))).toBeNull()
      }
    }),
  )
})

test('the disk has room for an image and its installed files', () => {
  const required = requiredOf(() =>
    checkBase({ diskMiB: 64, baseBytes: 100 * MIB }, { runs: true, copiedBytes: 10 * MIB }),
  )
  expect(required).toBeGreaterThan(100 + 10 + 200)
})

test('a full disk during a step suggests twice the size', () => {
  const { details, step } = filledDisk({ diskMiB: 100, baseBytes: 50 * MIB }, 3)
  expect(step).toBe(3)
  expect(Number(details.required_mib)).toBeGreaterThanOrEqual(2 * stepDiskMiB(100))
})

test('steps have more room than the template, within limits', () => {
  expect(stepDiskMiB(64)).toBe(64 + 512)
  expect(stepDiskMiB(2048)).toBe(4096)
  expect(stepDiskMiB(65_536)).toBe(65_536 + 4096)
})
