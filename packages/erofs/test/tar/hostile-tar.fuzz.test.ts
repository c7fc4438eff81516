import { randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type Entry, ErofsInputError, readTar, writeImage } from '@holt/erofs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { requires } from '../support/abilities.ts'
import { streamOf } from '../support/entries.ts'
import { fsck } from '../support/fsck.ts'
import { hostileTar } from '../support/hostile-tar.ts'
import { type Listed, listWithPython } from '../support/python-tar.ts'
import { scratch } from '../support/scratch.ts'

/** The seed of the archives. `HOLT_FUZZ_SEED` repeats them. */
const seed = Number(process.env.HOLT_FUZZ_SEED ?? randomInt(2 ** 31))

const archives = fc.sample(hostileTar, { numRuns: 400, seed })

/** Small limits, so that a false size cannot fill the disk. */
const limits = { maxBytes: 1 << 22, maxEntries: 1000, maxMetadataBytes: 1 << 20 }

const python = requires('python3')
const checker = requires('fsck.erofs')

/** The least number of archives of a kind; with fewer, the test proves nothing. */
const enough = 40

describe.skipIf(python.skip)(`hostile archives of HOLT_FUZZ_SEED=${seed}${python.note}`, () => {
  test('have the same members as for another reader, or are an input error', async () => {
    const others = await listWithPython(archives)
    let [read, compared, refused] = [0, 0, 0]
    for (const [index, archive] of archives.entries()) {
      const own = await list(archive)
      if (own === null) refused += 1
      else {
        read += 1
        const other = others[index] ?? null
        // Python gives up at some sparse maps.
        if (other !== null) expect(own, `archive ${index}`).toEqual(other)
        compared += other === null ? 0 : 1
      }
    }
    expect(Math.min(compared, refused), `${read} were read`).toBeGreaterThan(enough)
  }, 120_000)
})

describe.skipIf(checker.skip)(`images of hostile archives of HOLT_FUZZ_SEED=${seed}${checker.note}`, () => {
  test('are valid, or an input error that leaves nothing', async () => {
    await using dir = await scratch()
    let [sound, refused] = [0, 0]
    for (const [index, archive] of archives.entries()) {
      const image = `${dir.path}/${index}`
      try {
        await writeImage(readTar(streamOf([archive])), image, limits)
      } catch (error) {
        expect(error).toBeInstanceOf(ErofsInputError)
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

/** The most bytes of a file whose content is read. A sparse file can be of any size, and a writer refuses those above its own limit. */
const largest = 2 ** 30

/** Lists an archive; null if it is an input error. Content is read to its end, as a writer does. */
async function list(archive: Buffer): Promise<readonly Listed[] | null> {
  const listed: Listed[] = []
  try {
    for await (const entry of readTar(streamOf([archive]))) listed.push(await listedOf(entry))
    return listed
  } catch (error) {
    expect(error).toBeInstanceOf(ErofsInputError)
    return null
  }
}

async function listedOf(entry: Entry): Promise<Listed> {
  const name = Buffer.from(entry.path).toString('latin1').replace(/\/+$/, '')
  const isLink = entry.type === 'symlink' || entry.type === 'hardlink'
  const target = isLink ? Buffer.from(entry.linkTarget).toString('latin1') : ''
  if (entry.type === 'file' && entry.size <= largest) {
    let size = 0
    for await (const part of entry.body ?? []) size += part.length
    expect(size).toBe(entry.size)
  }
  const isOther = entry.type === 'char' || entry.type === 'block' || entry.type === 'fifo'
  return { name, type: isOther ? 'other' : entry.type, size: entry.type === 'file' ? entry.size : 0, target }
}
