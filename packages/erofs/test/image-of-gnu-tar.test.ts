import { createReadStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { writeImage } from '@holt/erofs'
import { readTar } from '@holt/tar'
import { requires } from '@holt/testkit'
import { describe, expect, test } from 'vitest'
import { type Description, describeTree } from './support/describe-tree.ts'
import { mounted } from './support/mounted.ts'
import { addLongNames, addXattrs, makeRealTree } from './support/real-tree.ts'
import { run } from './support/run.ts'
import { scratch } from './support/scratch.ts'

const gnuTar = requires('mount', 'tar', 'xattr')

/**
 * Returns the kernel's view of an image made from an archive by GNU tar, and its view of the
 * archived tree.
 */
async function bothTrees(
  prepare: (root: string) => Promise<void>,
  tarOptions: readonly string[],
): Promise<{ source: Map<string, Description>; image: Map<string, Description> }> {
  await using dir = await scratch()
  const root = `${dir.path}/source`
  await mkdir(root)
  await prepare(root)
  await run('tar', [...tarOptions, '-cf', `${dir.path}/tar`, '-C', root, '.'])
  const image = `${dir.path}/image`
  await writeImage(readTar(createReadStream(`${dir.path}/tar`)), image)
  await using mount = await mounted(image)
  return {
    source: await describeTree(root, { xattrs: true }),
    image: await describeTree(mount.path, { xattrs: true }),
  }
}

/** Formats before pax store whole seconds, and no extended attributes. */
function asOldFormats(tree: Map<string, Description>): Map<string, Description> {
  const seconds = (mtimeNs: string): string => `${BigInt(mtimeNs) / 1_000_000_000n}`
  return new Map([...tree].map(([path, seen]) => [path, { ...seen, mtimeNs: seconds(seen.mtimeNs), xattrs: {} }]))
}

describe.skipIf(gnuTar.skip)(`an archive by GNU tar${gnuTar.note}`, () => {
  test.each([['--format=v7'], ['--format=ustar'], ['--format=gnu'], ['--format=gnu', '--sparse']])(
    '%s %s',
    async (...options) => {
      const old = options.includes('--format=v7')
      const prepare = async (root: string): Promise<void> => {
        await makeRealTree(root)
        if (old) await run('rm', [`${root}/null`, `${root}/disk`, `${root}/fifo`])
        if (options.includes('--format=gnu')) await addLongNames(root)
      }
      const { source, image } = await bothTrees(
        prepare,
        options.filter((option) => option !== undefined),
      )
      expect(asOldFormats(image)).toEqual(asOldFormats(source))
    },
  )

  test.each([
    [],
    ['--sparse', '--sparse-version=0.0'],
    ['--sparse', '--sparse-version=0.1'],
    ['--sparse', '--sparse-version=1.0'],
  ])('--format=posix --xattrs %s %s', async (...options) => {
    const prepare = async (root: string): Promise<void> => {
      await makeRealTree(root)
      await addLongNames(root)
      await addXattrs(root)
    }
    const given = options.filter((option) => option !== undefined)
    const { source, image } = await bothTrees(prepare, ['--format=posix', '--xattrs', '--xattrs-include=*', ...given])
    expect(image).toEqual(source)
  })
})
