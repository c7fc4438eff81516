import { buffer } from 'node:stream/consumers'
import type { Engine, ImageDigest, ImageStore, RuntimeSpec } from '@holt/engine'
import type { GuestClient } from '@holt/guest-client'
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
