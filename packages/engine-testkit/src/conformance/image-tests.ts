import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import type { Engine, ImageDigest, ImageNode, ImageStore, ImageTree, RuntimeSpec } from '@holt/engine'
import type { GuestClient, ListedEntry } from '@holt/guest-client'
import { expect } from 'vitest'
import { bindRequest, connect, kindOf, type Steps } from './steps.ts'

/**
 * The conformance tests of images: runtimes become images, and files are copied as in Dockerfiles.
 */
export const imageTests = {
  'makes an image of what a runtime has become, with the one that it is made of': async ({ engine, spec, signal }) => {
    const wanted = spec()
    const guest = await bound(engine, wanted, signal)
    await write(guest, '/opt/app/file', 'made by a step', signal)
    const { body } = await guest.trees.export({ onlyChanged: true, exclude: ['/tmp'] }, signal())
    const { digest } = await images(engine).import(body, signal(), { base: wanted.imageDigest })
    const next = await bound(engine, { ...spec(), imageDigest: digest }, signal)
    expect(await read(next, '/opt/app/file', signal)).toBe('made by a step')
    // This export does not need the base image.
    const { body: whole } = await next.trees.export({ onlyChanged: false }, signal())
    expect((await images(engine).import(whole, signal(), { base: digest })).sizeBytes).toBeGreaterThan(0)
  },
  'reads the tree of an image, and lists what a runtime has become': async ({ engine, spec, signal }) => {
    const wanted = spec()
    const guest = await bound(engine, wanted, signal)
    await write(guest, '/opt/app/file', 'made by a step', signal)
    const { body } = await guest.trees.export({ onlyChanged: true }, signal())
    const { digest } = await images(engine).import(body, signal(), { base: wanted.imageDigest })
    await using before = await images(engine).open(wanted.imageDigest)
    await using after = await images(engine).open(digest)
    expect(await contentAt(before, ['opt', 'app', 'file'])).toBeNull()
    expect(await contentAt(after, ['opt', 'app', 'file'])).toBe('made by a step')
    await images(engine).remove(digest)
    expect(await contentAt(after, ['opt', 'app', 'file'])).toBe('made by a step')
    const listed = await listTree(guest, '/', signal)
    expect(listed.get('/opt/app/file')).toMatchObject({ type: 'file', size: 14, isLower: false })
    for (const [name, node] of await before.children(before.root)) {
      const { type, mode, uid, gid } = await node()
      const entry = listed.get(`/${name}`)
      if (entry?.isMount === false && !entry.isParent) expect(entry, name).toMatchObject({ type, mode, uid, gid })
    }
    const paths = ['/opt/app/file', '/none'].map((path) => Buffer.from(path))
    const [file, none] = await guest.listings.entries({ paths, digest: true, maxBytes: 100 }, signal())
    expect(file?.content?.toString()).toBe('made by a step')
    expect(file?.sha256).toEqual(createHash('sha256').update('made by a step').digest())
    expect(none).toBeNull()
  },
  'refuses to open an image that it does not have': async ({ engine }) => {
    expect(await kindOf(images(engine).open(`sha256:${'0'.repeat(64)}`))).toBe('not_found')
  },
  'refuses an export with an image that it does not have': async ({ engine, spec, signal }) => {
    const guest = await bound(engine, spec(), signal)
    const { body } = await guest.trees.export({ onlyChanged: false }, signal())
    const unknown: ImageDigest = `sha256:${'0'.repeat(64)}`
    expect(await kindOf(images(engine).import(body, signal(), { base: unknown }))).toBe('not_found')
    body.destroy()
  },
  'copies what was selected, from one runtime to another': async ({ engine, spec, signal }) => {
    const [from, to] = await Promise.all([bound(engine, spec(), signal), bound(engine, spec(), signal)])
    await write(from, '/opt/a/one', '1', signal)
    await write(from, '/opt/a/deep/two', '2', signal)
    const plain = { chown: null, keepOwners: true, mode: null, unpack: false }
    const tree = await from.trees.select({ sources: ['opt/a/'] }, signal())
    expect(tree).toMatchObject({ matches: 1, singleFile: false })
    await to.trees.apply({ ...plain, destination: '/srv/copy', singleFile: false, body: tree.body }, signal())
    expect(await read(to, '/srv/copy/deep/two', signal)).toBe('2')
    const file = await from.trees.select({ sources: ['/opt/a/one'] }, signal())
    expect(file).toMatchObject({ matches: 1, singleFile: true })
    const applied = await to.trees.apply(
      { ...plain, destination: '/srv/named', singleFile: true, body: file.body },
      signal(),
    )
    expect(applied).toMatchObject({ files: 1, size_bytes: 1, unpacked: 0 })
    expect(await read(to, '/srv/named', signal)).toBe('1')
    await expect(from.trees.select({ sources: ['/none'] }, signal())).rejects.toMatchObject({ code: 'path_not_found' })
  },
  'puts mounts in, and takes them out without a trace': async ({ engine, spec, signal }) => {
    const guest = await bound(engine, spec(), signal)
    await write(guest, '/opt/there', 'before', signal)
    const content = Buffer.from('s3cret')
    const secrets = [
      { id: 'one', target: '/opt/there', kind: 'file', content },
      { id: 'two', target: '/run/secrets/two', kind: 'file', content },
    ] as const
    await guest.mounts.add([...secrets, { id: 'three', target: '/opt/cache', kind: 'directory' }], signal())
    expect(await read(guest, '/opt/there', signal)).toBe('s3cret')
    expect((await guest.files.stat('/opt/cache', signal())).type).toBe('directory')
    await guest.mounts.clear(signal())
    await guest.mounts.clear(signal())
    expect(await read(guest, '/opt/there', signal)).toBe('before')
    for (const path of ['/run/secrets', '/opt/cache'])
      await expect(guest.files.stat(path, signal())).rejects.toMatchObject({ code: 'path_not_found' })
  },
} satisfies Record<string, (steps: Steps) => Promise<void>>

/** Returns the content of a file of an image, or null. */
async function contentAt(tree: ImageTree, names: readonly string[]): Promise<string | null> {
  let node: ImageNode | undefined = tree.root
  for (const name of names) {
    node = node?.type === 'directory' ? await (await tree.children(node)).get(name)?.() : undefined
    if (node === undefined) return null
  }
  return (await buffer(tree.content(node))).toString()
}

/** Returns a listing by the paths of its entries. */
async function listTree(
  guest: GuestClient,
  path: string,
  signal: () => AbortSignal,
): Promise<ReadonlyMap<string, ListedEntry>> {
  const listed = new Map<string, ListedEntry>()
  const way: string[] = []
  for await (const group of guest.listings.tree({ path: Buffer.from(path), prune: true }, signal())) {
    for (const record of group) {
      if (record.kind === 'up') way.pop()
      if (record.kind !== 'entry') continue
      listed.set([...way, record.name.toString('latin1')].join('/'), record)
      if (record.type === 'directory') way.push(record.name.toString('latin1'))
    }
  }
  return listed
}

function images(engine: Engine): ImageStore {
  const store = engine.ability('images')
  if (store === null) throw new Error('no images')
  return store
}

async function bound(engine: Engine, spec: RuntimeSpec, signal: () => AbortSignal): Promise<GuestClient> {
  await engine.ensure(spec, signal())
  const guest = await connect(engine, spec.id, signal())
  await guest.bind(bindRequest(spec.id), signal())
  return guest
}

async function write(guest: GuestClient, path: string, text: string, signal: () => AbortSignal): Promise<void> {
  await guest.content.write({ path, createOnly: false, body: Buffer.from(text) }, signal())
}

async function read(guest: GuestClient, path: string, signal: () => AbortSignal): Promise<string> {
  return (await buffer((await guest.content.read({ path, range: null }, signal())).body)).toString()
}
