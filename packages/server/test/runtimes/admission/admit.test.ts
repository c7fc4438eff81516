import { HoltError } from '@holt/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { usualReserve } from '../../../src/foundation/config/system-reserve.ts'
import { type Admission, admit, requirePossibleDisk } from '../../../src/runtimes/admission/admit.ts'

const roomy: Admission = {
  hostMemoryMiB: 16_384,
  diskFreeMiB: 50_000,
  freeMemoryMiB: 12_000,
  promisedMiB: 0,
  starting: 0,
  overcommit: 4,
  reserve: usualReserve,
  memoryMiB: 1024,
}

test('accepts a runtime if there is room', () => {
  expect(() => admit(roomy)).not.toThrow()
  expect(() => admit({ ...roomy, freeMemoryMiB: null })).not.toThrow()
})

test.each([
  [{ diskFreeMiB: 1023 }, 'disk_full'],
  [{ memoryMiB: 16_384 }, 'unsupported_setting'],
  [{ memoryMiB: 16_384, isBack: true }, 'capacity_exhausted'],
  [{ promisedMiB: 16_384 * 4 }, 'capacity_exhausted'],
  [{ freeMemoryMiB: 800 }, 'capacity_exhausted'],
  [{ freeMemoryMiB: 1500, starting: 20 }, 'capacity_exhausted'],
  [{ reserve: { ...usualReserve, memoryMiB: 11_990 } }, 'capacity_exhausted'],
  [{ reserve: { ...usualReserve, diskMiB: 50_001 } }, 'disk_full'],
  [{ freeMemoryMiB: 2000, broughtBackMiB: 1200 }, 'capacity_exhausted'],
  [{ freeMemoryMiB: 2400, broughtBackMiB: 800, arrivingMiB: 800 }, 'capacity_exhausted'],
])('refuses a runtime with %j as %s', (change, code) => {
  expect(() => admit({ ...roomy, ...change })).toThrow(expect.objectContaining({ code }))
})

test('only a disk larger than the host can ever give is refused as such', () => {
  const host = { hostDiskMiB: 60_000, reserve: { ...usualReserve, diskMiB: 1024 } }
  for (const disk of [undefined, 4096, 58_976]) expect(() => requirePossibleDisk(disk, host)).not.toThrow()
  for (const disk of [58_977, 2 ** 20])
    expect(() => requirePossibleDisk(disk, host)).toThrow(
      expect.objectContaining({ code: 'unsupported_setting', details: { available_mib: 58_976 } }),
    )
})

test('a refused runtime stays refused with less room', () => {
  const number = fc.nat(40_000)
  fc.assert(
    fc.property(
      fc.record({
        hostMemoryMiB: number,
        diskFreeMiB: number,
        freeMemoryMiB: number,
        promisedMiB: number,
        memoryMiB: number,
        starting: fc.nat(50),
      }),
      fc.nat(5000),
      (values, less) => {
        const refused = (admission: Admission) => {
          try {
            admit(admission)
            return false
          } catch (error) {
            expect(error).toBeInstanceOf(HoltError)
            return true
          }
        }
        const admission = { ...values, overcommit: 4, reserve: usualReserve }
        if (!refused(admission)) return
        expect(refused({ ...admission, diskFreeMiB: admission.diskFreeMiB - less })).toBe(true)
        expect(refused({ ...admission, freeMemoryMiB: admission.freeMemoryMiB - less })).toBe(true)
        expect(refused({ ...admission, promisedMiB: admission.promisedMiB + less })).toBe(true)
      },
    ),
  )
})
