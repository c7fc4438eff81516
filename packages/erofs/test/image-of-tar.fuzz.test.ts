import { randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { writeImage } from '@holt/erofs'
import { EntryError, readTar } from '@holt/tar'
import { requires } from '@holt/testkit'
import { hostileTar } from '@holt/testkit/hostile-tar'
import fc from 'fast-check'
import { pack } from 'tar-stream'
import { describe, expect, test } from 'vitest'
import { pattern, streamOf } from './support/entries.ts'
import { fsck } from './support/fsck.ts'
import { scratch } from './support/scratch.ts'

/** The seed of the hostile archives. `HOLT_FUZZ_SEED` repeats them. */
const hostileSeed = Number(process.env.HOLT_FUZZ_SEED ?? randomInt(2 ** 31))
const archives = fc.sample(hostileTar, { numRuns: 400, seed: hostileSeed })
const checker = requires('fsck.erofs')

/** The least number of archives of a kind; with fewer, the test proves nothing. */
const enough = 40

/** Small enough that a mutated size cannot fill the disk. */
const LIMITS = { maxBytes: 1 << 22, maxEntries: 1000, maxMetadataBytes: 1 << 20 }

/** A sound archive with every kind of header for mutations to start from. */
async function seed(): Promise<Buffer> {
  const archive = pack()
  archive.entry({ name: 'd/', type: 'directory' })
  archive.entry({ name: 'd/file', pax: { mtime: '1.5', 'SCHILY.xattr.user.a': 'value' } }, pattern(5000))
  archive.entry({ name: 'ü'.repeat(100) }, pattern(10))
  archive.entry({ name: 'hard', type: 'link', linkname: 'd/file' })
  archive.entry({ name: 'soft', type: 'symlink', linkname: '../target' })
  archive.entry({ name: 'tty', type: 'character-device', devmajor: 5, devminor: 0 })
  archive.entry({ name: 's', pax: { 'GNU.sparse.size': '9000', 'GNU.sparse.map': '10,5,8000,5' } }, pattern(10))
  archive.finalize()
  return buffer(archive)
}

const many = (count: number): boolean => count > 50

/** Sets the checksum of what may be a header, so that mutations get past it. */
function repairChecksum(bytes: Buffer, at: number): void {
  const block = bytes.subarray(at, at + 512)
  if (block.length < 512) return
  block.write('        ', 148)
  const sum = block.reduce((total, byte) => total + byte)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
}

const mutation = fc.record({
  at: fc.nat(1 << 16),
  bytes: fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 12 }),
    fc.constantFrom('7', '\0', '/', '..', '0', ' ', '=', '\n', '99', 'x', 'S', '1').map((text) => Buffer.from(text)),
  ),
  repair: fc.boolean(),
})

test('a damaged archive becomes an image or an input error, and leaves nothing', async () => {
  const sound = await seed()
  await using dir = await scratch()
  let [images, errors] = [0, 0]
  await fc.assert(
    fc.asyncProperty(
      fc.array(mutation, { maxLength: 6 }),
      fc.oneof({ weight: 8, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat(sound.length) }),
      fc.integer({ min: 1, max: 4000 }),
      async (mutations, cut, pieceSize) => {
        const bytes = Buffer.from(sound)
        for (const { at, bytes: change, repair } of mutations) {
          const start = at % bytes.length
          bytes.set(change.subarray(0, bytes.length - start), start)
          if (repair) repairChecksum(bytes, start - (start % 512))
        }
        const whole = bytes.subarray(0, cut ?? bytes.length)
        const pieces = Array.from({ length: Math.ceil(whole.length / pieceSize) }, (_, index) =>
          whole.subarray(index * pieceSize, (index + 1) * pieceSize),
        )
        const image = `${dir.path}/${images + errors}`
        try {
          await writeImage(readTar(streamOf(pieces)), image, LIMITS)
          images += 1
        } catch (error) {
          expect(error).toBeInstanceOf(EntryError)
          expect(existsSync(image)).toBe(false)
          errors += 1
        }
      },
    ),
    { numRuns: 1500, interruptAfterTimeLimit: 40_000 },
  )
  // Both ways out are taken, or the mutations test nothing.
  expect({ images, errors }).toEqual({ images: expect.toSatisfy(many), errors: expect.toSatisfy(many) })
}, 60_000)

describe.skipIf(checker.skip)(`images of hostile archives of HOLT_FUZZ_SEED=${hostileSeed}${checker.note}`, () => {
  test('are valid, or an input error that leaves nothing', async () => {
    await using dir = await scratch()
    let [sound, refused] = [0, 0]
    for (const [index, archive] of archives.entries()) {
      const image = `${dir.path}/${index}`
      try {
        await writeImage(readTar(streamOf([archive])), image, LIMITS)
      } catch (error) {
        expect(error).toBeInstanceOf(EntryError)
        expect(existsSync(image)).toBe(false)
        refused += 1
        continue
      }
      await fsck(image)
      sound += 1
    }
    expect(Math.min(sound, refused), `${sound} became images`).toBeGreaterThan(enough)
  }, 120_000)
})
