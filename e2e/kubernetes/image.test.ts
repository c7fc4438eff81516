import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { testLength } from '@holt/testkit'
import { expect, onTestFinished, test } from 'vitest'
import { run } from './support/lab.ts'

const repository = join(import.meta.dirname, '../..')

/** The time of one build, in milliseconds. */
const buildMs = 1_200_000

/** Builds the image, and returns the digest of each file that the build gives out. */
async function build(): Promise<Readonly<Record<string, string>>> {
  const out = await mkdtemp(join(tmpdir(), 'holt-image-'))
  onTestFinished(() => rm(out, { recursive: true, force: true }))
  const made = await run(join(repository, 'deploy/image/build'), ['--out', out], { timeoutMs: buildMs })
  expect([made.code, made.out]).toEqual([0, expect.stringContaining('.tar')])
  const names = (await readdir(out)).filter((name) => /\.(?:tar|cdx\.json|deb)$/.test(name)).toSorted()
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await digestOf(join(out, name))])))
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

test.skipIf(testLength() !== 'long')(
  'two builds of the image give the same bytes',
  { timeout: 2 * buildMs },
  async () => {
    const first = await build()
    expect(Object.keys(first)).toEqual([
      expect.stringMatching(/^holt-.*-image-.*\.cdx\.json$/),
      expect.stringMatching(/^holt-.*-image-.*\.tar$/),
      expect.stringMatching(/^holt_.*\.deb$/),
    ])
    expect(await build()).toEqual(first)
  },
)
