import { Readable } from 'node:stream'
import type { ImageDigest } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import type { GuestClient } from '@holt/guest-client'
import { expect, test } from 'vitest'
import { Holds } from '../../../src/foundation/images/holds.ts'
import type { RuntimeRow } from '../../../src/foundation/store/tables.ts'
import { importFiles } from '../../../src/runtimes/snapshots/import-files.ts'

const mib = 2 ** 20

/** A guest whose tree has as many bytes. */
const guestWith = (bytes: number) =>
  ({
    trees: { export: async () => ({ onlyChanged: true, body: Readable.from([Buffer.alloc(bytes)]) }) },
  }) as unknown as GuestClient

test('the image of the own files of a runtime is limited by the image that it was made of', async () => {
  const engine = new FakeEngine()
  const signal = AbortSignal.timeout(60_000)
  const imageOf = async (bytes: number, fill: number) => {
    const image = await engine.ability('images')?.import(Readable.from([Buffer.alloc(bytes, fill)]), signal)
    return image?.digest as ImageDigest
  }
  const [origin, own] = [await imageOf(1000, 1), await imageOf(2 * mib, 2)]
  const take = (row: Pick<RuntimeRow, 'image_digest' | 'origin_image_digest'>, bytes: number) =>
    importFiles(
      { engine, holds: new Holds() },
      {
        runtime: { ...row, disk_mib: 1, isolation: 'gvisor' } as RuntimeRow,
        guest: guestWith(bytes),
        holder: 'test',
        still: true,
      },
      signal,
    )
  const rebooted = { image_digest: own, origin_image_digest: origin }
  await expect(take(rebooted, 2 * mib + 500)).resolves.toMatchObject({ sizeBytes: 2 * mib + 500 })
  await expect(take(rebooted, 3 * mib)).rejects.toMatchObject({ kind: 'invalid' })
  await expect(take({ image_digest: own, origin_image_digest: null }, 3 * mib)).resolves.toBeDefined()
})
