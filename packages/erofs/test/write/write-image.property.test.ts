import { writeImage } from '@holt/erofs'
import { requires } from '@holt/testkit'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { describeTree } from '../support/describe-tree.ts'
import { streamOf } from '../support/entries.ts'
import { fsck } from '../support/fsck.ts'
import { mounted } from '../support/mounted.ts'
import { buildTree, type Step, step } from '../support/random-tree.ts'
import { scratch } from '../support/scratch.ts'

const kernel = requires('mount', 'fsck.erofs', 'xattr')

/** Writes a random tree and compares it with what the kernel shows. */
async function check(steps: readonly Step[]): Promise<void> {
  const { entries, expected } = buildTree(steps)
  await using dir = await scratch()
  const image = `${dir.path}/image`
  await writeImage(streamOf(entries), image)
  await fsck(image)
  await using mount = await mounted(image)
  const seen = await describeTree(mount.path, { xattrs: true })
  seen.delete('.')
  const shown = [...seen].map(([path, { sameAs: _, ...rest }]) => [path, rest] as const)
  expect(new Map(shown)).toEqual(expected)
}

describe.skipIf(kernel.skip)(`random trees${kernel.note}`, () => {
  test('are the same when the kernel mounts their image', async () => {
    let running: Promise<void> = Promise.resolve()
    const property = fc.asyncProperty(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
      running = check(steps)
      return running
    })
    try {
      // The limit also ends the search for a smaller failure, which would go on beyond the test's
      // own timeout.
      await fc.assert(property, { numRuns: 60, interruptAfterTimeLimit: 60_000 })
    } finally {
      // An interrupt does not wait for the run under way, and that run has a mount to undo.
      await Promise.allSettled([running])
    }
  }, 120_000)
})
