import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Entry, writeTar } from '@holt/erofs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { HostImages } from '../../src/images/host-images.ts'
import type { Layout } from '../../src/layout.ts'
import { recordDurability } from '../support/record-durability.ts'

const content = Buffer.alloc(2 ** 20, 'x')
const common = { mode: 0o644, uid: 0, gid: 0, mtimeSecs: 0, mtimeNanos: 0 }
const signal = new AbortController().signal
const log = { debug() {}, info() {}, warn() {}, error() {} }

async function* files(count: number): AsyncGenerator<Entry> {
  for (let at = 0; at < count; at++) {
    const body = (async function* () {
      yield content
    })()
    yield { ...common, type: 'file', path: 'same', size: content.length, body }
  }
}

let dir = ''
let images: HostImages
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holt-images-'))
  await mkdir(join(dir, 'images'))
  const layout = {
    images: join(dir, 'images'),
    image: (digest: string) => join(dir, 'images', `${digest.slice(7)}.erofs`),
    imageBase: (digest: string) => join(dir, 'images', `${digest.slice(7)}.base`),
  }
  images = new HostImages(layout as unknown as Layout, { isUsed: () => false, log })
})
afterEach(() => rm(dir, { recursive: true, force: true }))

test('an image that would be larger than it may be is refused while it comes, and leaves nothing', async () => {
  const maxBytes = 3 * 2 ** 20
  await expect(images.import(writeTar(files(1)), signal, { maxBytes })).resolves.toMatchObject({
    digest: expect.any(String),
  })
  // The same name again and again: the tree has one file, and the disk would have all of them.
  await expect(images.import(writeTar(files(50)), signal, { maxBytes })).rejects.toMatchObject({ kind: 'invalid' })
  expect(await readdir(join(dir, 'images'))).toHaveLength(1)
})

test('an image has its name when all of it is durable, and is answered when the name is', async () => {
  using record = await recordDurability(dir)
  const { digest } = await images.import(writeTar(files(1)), signal)
  record.expectStages([
    ['sync images/.tmp'],
    ['sync images/.tmp'],
    [`rename images/.tmp images/${digest.slice(7)}.erofs`],
    ['sync images'],
  ])
})

test('whoever imports learns the digest before the image is there, and can refuse it', async () => {
  let told: string | undefined
  const beforePublish = async (digest: `sha256:${string}`) => {
    told = digest
    expect(await images.has(digest)).toBe(false)
  }
  const { digest } = await images.import(writeTar(files(1)), signal, { beforePublish })
  expect([told, await images.has(digest)]).toEqual([digest, true])
  const refuse = () => Promise.reject(new Error('not this one'))
  await expect(images.import(writeTar(files(2)), signal, { beforePublish: refuse })).rejects.toThrow('not this one')
  expect(await readdir(join(dir, 'images'))).toHaveLength(1)
})
