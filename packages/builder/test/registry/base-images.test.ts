import { createHash } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BaseImagesOptions, makeBaseImages, type PullOptions, PullsUnderWay } from '../../src/index.ts'
import { buildahIn } from '../support/buildah.ts'
import { directNetwork } from '../support/direct-network.ts'
import { makeShelf } from '../support/image-shelf.ts'
import { lacks, run } from '../support/machine.ts'
import { type Compression, tarOf, writeLayout } from '../support/oci-image.ts'
import { type Registry, reader, startRegistry } from '../support/registry.ts'
import { listDirectory } from '../support/tree-listing.ts'

const missing = lacks('skopeo', 'buildah', 'docker-registry', 'tar', 'getfattr')
const TIMEOUT_MS = 120_000

describe.skipIf(missing !== '')(`pulling images for builds${missing}`, { timeout: TIMEOUT_MS }, () => {
  let dir: string
  let registry: Registry
  let buildah: (...args: string[]) => string
  let count = 0

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'holt-images-'))
    registry = await startRegistry()
    buildah = buildahIn(dir)
  })

  afterAll(async () => {
    await registry[Symbol.asyncDispose]()
    await rm(dir, { recursive: true })
  })

  /**
   * Makes an image by a script in a tree, commits it as `format`, pushes it, and answers its
   * reference.
   */
  function make(script: string, ...options: readonly ('docker' | 'oci' | Compression)[]): string {
    count += 1
    const reference = `${registry.address}/team/image-${count}:1`
    const container = buildah('from', 'scratch')
    run(['sh', '-euc', `cd "$1"; ${script}`, 'sh', buildah('mount', container)])
    buildah('config', '--env', 'GREETING=hello world', '--env', 'PATH=/opt/bin:/bin', '--user', 'app:app', container)
    buildah('config', '--workingdir', '/srv/app', '--label', 'team=a b', '--port', '8080/tcp', container)
    buildah('config', '--onbuild', 'LABEL later=1', '--shell', '/bin/bash -c', container)
    buildah('commit', '--format', options.includes('oci') ? 'oci' : 'docker', container, reference)
    const compression = options.find((option) => option === 'zstd' || option === 'gzip')
    const flags = compression === undefined ? [] : ['--compression-format', compression]
    buildah('push', '--tls-verify=false', ...flags, reference)
    buildah('rm', container)
    return reference
  }

  async function imagesOf(change: Partial<BaseImagesOptions> = {}) {
    const shelf = makeShelf()
    const network = directNetwork()
    const settings = { mirrors: [], insecure: ['127.0.0.1:*'] }
    const workDir = await mkdtemp(join(dir, 'work-'))
    const images = makeBaseImages({
      ...shelf,
      network,
      settings,
      workDir,
      underWay: new PullsUnderWay(),
      retryPolicy: { firstDelayMs: 10 },
      ...change,
    })
    return { images, shelf, network, workDir }
  }

  const said: string[] = []
  const options = (change: Partial<PullOptions> = {}): PullOptions => ({
    auth: null,
    onProgress: (message) => said.push(message),
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...change,
  })

  /** The same image, unpacked by buildah. */
  function unpacked(reference: string) {
    const container = buildah('from', '--pull-always', '--tls-verify=false', reference)
    const { listing } = listDirectory(buildah('mount', container))
    buildah('rm', container)
    return listing
  }

  const tree =
    'mkdir -p srv/app etc; echo app:x:1000:1000::/:/bin/sh >etc/passwd; echo one >srv/app/one; ln -s one srv/app/two'

  test.each([
    ['docker', 'gzip'],
    ['oci', 'gzip'],
    ['oci', 'zstd'],
  ] as const)(
    'an image of kind %s with %s layers is the same as with buildah, with its settings',
    async (kind, compression) => {
      const reference = make(tree, kind, compression)
      const { images, shelf, workDir } = await imagesOf()
      const resolved = await images.resolve(reference, options())
      const raw = run(['skopeo', 'inspect', '--raw', '--tls-verify=false', `docker://${reference}`])
      const digest = `sha256:${createHash('sha256').update(raw).digest('hex')}`
      expect(resolved).toEqual({ reference, digest, pinned: `${reference.slice(0, -2)}@${digest}` })
      const pulled = await images.ensure(resolved, options())
      expect(shelf.trees.get(pulled.imageDigest)).toEqual(unpacked(reference))
      expect(pulled.settings).toEqual({
        env: { GREETING: 'hello world', PATH: '/opt/bin:/bin' },
        user: 'app:app',
        workdir: '/srv/app',
        shell: kind === 'docker' ? ['/bin/bash', '-c'] : ['/bin/sh', '-c'],
        labels: expect.objectContaining({ team: 'a b' }),
        ports: ['8080/tcp'],
        onBuild: kind === 'docker' ? ['LABEL later=1'] : [],
      })
      expect(said.join('\n')).toMatch(/pulled 1 of 1 layers, .* MiB of .* MiB.*writing the image/s)
      expect(await readdir(workDir)).toEqual([])
    },
  )

  /** Puts hand-made layers into a registry as one manifest of this platform. */
  async function publish(reference: string, script: string, ...flags: string[]): Promise<void> {
    count += 1
    const layout = join(dir, `layout-${count}`)
    await writeLayout(layout, [{ tar: await tarOf(join(dir, `tree-${count}`), script), compression: 'gzip' }])
    const copy = ['copy', '--quiet', '--dest-tls-verify=false', ...flags]
    run(['skopeo', '--insecure-policy', ...copy, `oci:${layout}`, `docker://${reference}`])
  }

  test('of an index, the image for this platform is pulled and the index pinned', async () => {
    const own = make('mkdir a; echo own >a/own', 'oci')
    const other = make('mkdir a; echo other >a/other', 'oci')
    const list = `${registry.address}/team/list:1`
    buildah('manifest', 'create', 'list')
    buildah('manifest', 'add', '--tls-verify=false', '--arch', 's390x', 'list', `docker://${other}`)
    buildah('manifest', 'add', '--tls-verify=false', 'list', `docker://${own}`)
    buildah('manifest', 'push', '--all', '--tls-verify=false', 'list', `docker://${list}`)
    const { images, shelf } = await imagesOf()
    const resolved = await images.resolve(list, options())
    const pulled = await images.ensure(resolved, options())
    expect([...(shelf.trees.get(pulled.imageDigest)?.keys() ?? [])]).toContain('a/own')
    const raw = run(['skopeo', 'inspect', '--raw', '--tls-verify=false', `docker://${list}`])
    expect(resolved.digest).toBe(`sha256:${createHash('sha256').update(raw).digest('hex')}`)
    const foreign = buildah('manifest', 'create', 'foreign')
    buildah('manifest', 'add', '--tls-verify=false', '--arch', 's390x', 'foreign', `docker://${other}`)
    buildah('manifest', 'push', '--all', '--tls-verify=false', 'foreign', `docker://${registry.address}/team/foreign:1`)
    expect(foreign).not.toBe('')
    const wrong = await images.resolve(`${registry.address}/team/foreign:1`, options())
    await expect(images.ensure(wrong, options())).rejects.toMatchObject({
      code: 'image_unsupported',
      hint: 'It has: s390x.',
    })
  })

  test('an image is pulled once for concurrent and later users, and again when it is gone', async () => {
    const reference = `${registry.address}/team/once:1`
    await publish(reference, 'echo once >once')
    const { images, shelf } = await imagesOf()
    const resolved = await images.resolve(reference, options())
    const both = await Promise.all([images.ensure(resolved, options()), images.ensure(resolved, options())])
    expect(both[0]).toEqual(both[1])
    expect(await images.ensure(resolved, options())).toEqual(both[0])
    expect(shelf.imports).toBe(1)
    await shelf.images.remove(both[0].imageDigest)
    await images.ensure(resolved, options())
    expect(shelf.imports).toBe(2)
  })

  test('concurrent pulls of an image in two projects are known to both', async () => {
    const reference = `${registry.address}/team/both:1`
    await publish(reference, 'echo both >both')
    const underWay = new PullsUnderWay()
    const one = await imagesOf({ underWay })
    const memory = makeShelf()
    const two = await imagesOf({ underWay, images: one.shelf.images, store: memory.store })
    const resolved = await one.images.resolve(reference, options())
    const pulled = await Promise.all([one, two].map(({ images }) => images.ensure(resolved, options())))
    expect(pulled[0]).toEqual(pulled[1])
    expect(one.shelf.imports).toBe(1)
    expect(await memory.store.get(resolved.pinned)).toMatchObject({ imageDigest: pulled[0]?.imageDigest })
  })

  test('a cancelled pull continues for the others, and the last one leaves nothing', async () => {
    const reference = `${registry.address}/team/abort:1`
    await publish(reference, 'head -c 1000000 /dev/urandom >a')
    const { images, shelf, workDir } = await imagesOf()
    const resolved = await images.resolve(reference, options())
    const [one, two] = [new AbortController(), new AbortController()]
    const first = images.ensure(resolved, options({ signal: one.signal }))
    const second = images.ensure(resolved, options({ signal: two.signal }))
    one.abort(new Error('enough'))
    await expect(first).rejects.toThrow('enough')
    expect((await second).digest).toBe(resolved.digest)
    await shelf.images.remove((await second).imageDigest)
    const third = images.ensure(resolved, options({ signal: two.signal }))
    two.abort(new Error('enough too'))
    await expect(third).rejects.toThrow('enough too')
    expect(await readdir(workDir)).toEqual([])
  })

  test('credentials give access; missing and wrong ones are reported', async () => {
    await using closed = await startRegistry(undefined, { asks: true })
    const reference = `${closed.address}/team/private:1`
    await publish(reference, 'echo secret >a', '--dest-creds', `${reader.username}:${reader.password}`)
    const { images } = await imagesOf()
    const auth = { registry: null, ...reader }
    const resolved = await images.resolve(reference, options({ auth }))
    expect((await images.ensure(resolved, options({ auth }))).digest).toBe(resolved.digest)
    const named = { ...auth, registry: closed.address }
    expect(await images.resolve(reference, options({ auth: named }))).toEqual(resolved)
    await expect(images.resolve(reference, options())).rejects.toMatchObject({
      code: 'image_pull_failed',
      hint: expect.stringContaining('registry_auth'),
    })
    for (const wrong of [
      { ...auth, password: 'no' },
      { ...auth, registry: 'docker.io' },
    ]) {
      const failure = await images.resolve(reference, options({ auth: wrong })).catch((error: Error) => error)
      expect(failure).toMatchObject({ code: 'image_pull_failed' })
      expect(String((failure as Error).stack)).not.toContain(reader.password)
    }
  })

  test('a missing image and an invalid reference are not found', async () => {
    const { images } = await imagesOf()
    for (const reference of [`${registry.address}/team/none:1`, 'no image at all', `${'x'.repeat(600)}`]) {
      await expect(images.resolve(reference, options())).rejects.toMatchObject({ code: 'image_not_found' })
    }
  })

  test('a registry at a non-public address needs the setting of the operator', async () => {
    const reference = `${registry.address}/team/inside:1`
    await publish(reference, 'echo a >a')
    const { images, network } = await imagesOf({ settings: { mirrors: [], insecure: ['registry.lan:5000'] } })
    await expect(images.resolve(reference, options())).rejects.toMatchObject({
      code: 'image_pull_failed',
      hint: expect.stringContaining('HOLT_REGISTRY_INSECURE'),
    })
    expect(network.asked).toEqual([expect.objectContaining({ tls: true, isOperators: false })])
  })

  test('a registry whose name does not resolve is reported, with other sources', async () => {
    const { images } = await imagesOf()
    await expect(images.resolve('registry.test/team/none:1', options())).rejects.toMatchObject({
      code: 'image_pull_failed',
      message: expect.stringContaining('registry.test does not exist, or has no address'),
      hint: expect.stringMatching(/look up names.*HOLT_REGISTRY_MIRRORS.*holt\/base-small/),
    })
  })

  test('mirrors are asked first, in order, and the registry last', async () => {
    await publish(`${registry.address}/hub/library/tool:2`, 'echo mirrored >a')
    const mirror = (path: string) => ({ registry: 'docker.io', url: `http://${registry.address}${path}` })
    const mirrors = [{ registry: 'docker.io', url: 'http://127.0.0.1:1' }, mirror('/empty'), mirror('/hub')]
    const { images, network, shelf } = await imagesOf({ settings: { mirrors, insecure: [] } })
    const resolved = await images.resolve('tool:2', options())
    expect(resolved.pinned).toBe(`docker.io/library/tool@${resolved.digest}`)
    const pulled = await images.ensure(resolved, options())
    expect([...(shelf.trees.get(pulled.imageDigest)?.keys() ?? [])]).toEqual(['a'])
    expect(network.asked.some(({ host }) => host === 'registry-1.docker.io')).toBe(false)
    await expect(images.resolve('tool:3', options())).rejects.toMatchObject({ code: 'image_pull_failed' })
    expect(network.asked.at(-1)).toMatchObject({
      host: 'registry-1.docker.io',
      port: 443,
      tls: true,
      isOperators: false,
    })
  })

  test.each([
    ['a path to the parent', 'mkdir d; echo x >d/x', ['--transform=s,d/x,../x,', '-P']],
    ['a device', 'mknod null c 1 3', []],
    ['a link through links to outside', 'ln -s /etc a; ln -s a b', []],
  ])('a layer with %s has no effect outside the image', async (_what, script, flags) => {
    count += 1
    const layout = join(dir, `layout-${count}`)
    const tar = await tarOf(join(dir, `tree-${count}`), script, ...flags)
    await writeLayout(layout, [{ tar, compression: 'gzip' }])
    const reference = `${registry.address}/team/hostile-${count}:1`
    const copy = ['copy', '--quiet', '--dest-tls-verify=false']
    run(['skopeo', '--insecure-policy', ...copy, `oci:${layout}`, `docker://${reference}`])
    const { images, shelf, workDir } = await imagesOf()
    const pull = images.resolve(reference, options()).then((resolved) => images.ensure(resolved, options()))
    if (flags.length > 0) await expect(pull).rejects.toMatchObject({ code: 'image_unsupported' })
    else expect([...(shelf.trees.get((await pull).imageDigest)?.keys() ?? [])].length).toBeGreaterThan(0)
    expect(await readdir(workDir)).toEqual([])
  })

  test('limits on entries and bytes apply', async () => {
    const reference = `${registry.address}/team/bomb:1`
    await publish(reference, 'head -c 9000000 /dev/zero >zeros; echo a >a; echo b >b')
    for (const limits of [{ maxLayerBytes: 100 }, { maxBytes: 2 ** 20 }, { maxEntries: 2 }]) {
      const { images, workDir } = await imagesOf({ limits })
      const resolved = await images.resolve(reference, options())
      await expect(images.ensure(resolved, options())).rejects.toMatchObject({ code: 'image_unsupported' })
      expect(await readdir(workDir)).toEqual([])
    }
  })
})
