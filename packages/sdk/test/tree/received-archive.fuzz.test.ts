import { randomInt } from 'node:crypto'
import { type Listed, listWithPython, requires } from '@holt/testkit'
import { hostileTar } from '@holt/testkit/hostile-tar'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HoltError } from '../../src/errors/errors.ts'
import { type ReceivedEntry, readReceived } from '../../src/tree/received-archive.ts'

/** The seed of the archives. `HOLT_FUZZ_SEED` repeats them. */
const seed = Number(process.env.HOLT_FUZZ_SEED ?? randomInt(2 ** 31))

const archives = fc.sample(hostileTar, { numRuns: 400, seed })
const python = requires('python3')

/** The least number of archives of a kind; with fewer, the test proves nothing. */
const enough = 20

describe.skipIf(python.skip)(`hostile archives of HOLT_FUZZ_SEED=${seed}${python.note}`, () => {
  test('have the same members as for another reader, or are refused', async () => {
    const others = await listWithPython(archives)
    let [compared, refused] = [0, 0]
    for (const [index, archive] of archives.entries()) {
      const own = await list(archive)
      const other = others[index] ?? null
      if (own === null) refused += 1
      else if (other !== null && own.every(({ name }) => name !== null)) {
        expect(own, `archive ${index}`).toEqual(other)
        compared += 1
      }
    }
    expect(Math.min(compared, refused), `${compared} were read`).toBeGreaterThan(enough)
  }, 120_000)
})

/** The SDK reports a name that is not UTF-8 as null. */
type Own = Omit<Listed, 'name' | 'target'> & { readonly name: string | null; readonly target: string | null }

async function list(archive: Buffer): Promise<readonly Own[] | null> {
  const listed: Own[] = []
  try {
    for await (const entry of readReceived(streamOf(archive), () => undefined)) listed.push(await listedOf(entry))
    return listed
  } catch (error) {
    expect(error).toBeInstanceOf(HoltError)
    expect((error as HoltError).code).toBe('invalid_archive')
    return null
  }
}

async function listedOf({ path, type, target, sizeBytes, content }: ReceivedEntry): Promise<Own> {
  let size = 0
  for await (const part of content()) size += part.length
  expect(size).toBe(sizeBytes)
  const isLink = type === 'symlink' || type === 'hardlink'
  return { name: latin(path)?.replace(/\/+$/, '') ?? null, type, size, target: isLink ? latin(target) : '' }
}

/** Returns a text with one character for each byte, as in the other reader's names. */
function latin(text: string | null): string | null {
  return text === null ? null : Buffer.from(text, 'utf8').toString('latin1')
}

async function* streamOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 700) yield bytes.subarray(at, at + 700)
}
