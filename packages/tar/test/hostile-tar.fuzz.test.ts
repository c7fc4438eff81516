import { randomInt } from 'node:crypto'
import { type Entry, readTar, TarError } from '@holt/tar'
import { type Listed, listWithPython, requires } from '@holt/testkit'
import { hostileTar } from '@holt/testkit/hostile-tar'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { piecesOf } from './support/pieces.ts'

/** The seed of the archives. `HOLT_FUZZ_SEED` repeats them. */
const seed = Number(process.env.HOLT_FUZZ_SEED ?? randomInt(2 ** 31))

const archives = fc.sample(hostileTar, { numRuns: 400, seed })

const python = requires('python3')

/** The least number of archives of a kind; with fewer, the test proves nothing. */
const enough = 40

describe.skipIf(python.skip)(`hostile archives of HOLT_FUZZ_SEED=${seed}${python.note}`, () => {
  test('have the same members as for another reader, or are refused', async () => {
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

/** The most bytes of a file whose content is read. A sparse file can be of any size. */
const largest = 2 ** 30

/** Lists an archive; null if it is refused. Content is read to its end, as a writer does. */
async function list(archive: Buffer): Promise<readonly Listed[] | null> {
  const listed: Listed[] = []
  try {
    for await (const entry of readTar(piecesOf(archive))) listed.push(await listedOf(entry))
    return listed
  } catch (error) {
    expect(error).toBeInstanceOf(TarError)
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

test('random bytes are refused', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 3000 }), async (bytes) => {
      fc.pre(bytes.some((byte) => byte !== 0))
      await expect(Array.fromAsync(readTar(piecesOf(bytes)))).rejects.toBeInstanceOf(TarError)
    }),
  )
})
