import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Entry } from '@holt/tar'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { flattenImage } from '../../src/index.ts'
import { buildahIn } from '../support/buildah.ts'
import { lacks, run } from '../support/machine.ts'
import { type Compression, type LayerSource, tarOf, writeLayout } from '../support/oci-image.ts'
import { type Registry, startRegistry } from '../support/registry.ts'
import { listDirectory, listEntries } from '../support/tree-listing.ts'

const missing = lacks('skopeo', 'buildah', 'docker-registry', 'tar', 'getfattr', 'setcap')
const signal = AbortSignal.timeout(10 * 60_000)
const TIMEOUT_MS = 120_000

describe.skipIf(missing !== '')(`flattening an image of a registry${missing}`, { timeout: TIMEOUT_MS }, () => {
  let dir: string
  let registry: Registry
  let buildah: (...args: string[]) => string
  let count = 0

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'holt-flatten-'))
    registry = await startRegistry()
    buildah = buildahIn(dir)
  })

  afterAll(async () => {
    await registry[Symbol.asyncDispose]()
    await rm(dir, { recursive: true })
  })

  /** Puts hand-made layers into the registry and returns the reference. */
  async function publish(
    layers: readonly LayerSource[],
    options: Parameters<typeof writeLayout>[2] = {},
  ): Promise<string> {
    count += 1
    const layout = join(dir, `layout-${count}`)
    await writeLayout(layout, layers, options)
    const reference = `${registry.address}/team/image-${count}:1`
    run([
      'skopeo',
      '--insecure-policy',
      'copy',
      '--quiet',
      '--dest-tls-verify=false',
      `oci:${layout}`,
      `docker://${reference}`,
    ])
    return reference
  }

  async function layersOf(scripts: readonly string[], compression: Compression): Promise<LayerSource[]> {
    count += 1
    const layers: LayerSource[] = []
    for (const [index, script] of scripts.entries()) {
      layers.push({ tar: await tarOf(join(dir, `tree-${count}-${index}`), script), compression })
    }
    return layers
  }

  async function flatten(reference: string) {
    const workDir = join(dir, 'work')
    run(['mkdir', '-p', workDir])
    const linked = new Map<string, string[]>()
    {
      await using image = await flattenImage({ reference, workDir, signal })
      const listing = await listEntries(watchLinks(image.entries, linked))
      const groups = [...linked].map(([target, paths]) => [target, ...paths].sort()).sort()
      expect(await readdir(workDir)).toHaveLength(1)
      return { listing, linked: groups, settings: image.settings }
    }
  }

  async function* watchLinks(entries: AsyncIterable<Entry>, linked: Map<string, string[]>): AsyncGenerator<Entry> {
    for await (const entry of entries) {
      if (entry.type === 'hardlink') {
        const [path, target] = [entry.path, entry.linkTarget].map((bytes) =>
          Buffer.from(bytes as Uint8Array).toString('latin1'),
        )
        linked.set(target ?? '', [...(linked.get(target ?? '') ?? []), path ?? ''])
      }
      yield entry
    }
  }

  /** The same image, unpacked by buildah. */
  function unpacked(reference: string) {
    const container = buildah('from', '--pull-always', '--tls-verify=false', reference)
    const listing = listDirectory(buildah('mount', container))
    buildah('rm', container)
    buildah('rmi', reference)
    return listing
  }

  const scripts = [
    `mkdir -p bin etc/deep/er var/cache home/user; echo one >etc/one; echo two >etc/two; echo old >etc/deep/er/old
     head -c 3000000 /dev/urandom >var/big; ln var/big var/big-link; ln -s ../etc/one bin/link; ln -s /nowhere bin/dangling
     chown 1000:1000 home/user; install -m 4755 /bin/true bin/suid; setcap cap_net_raw+ep bin/suid; mkfifo var/pipe
     mknod var/null c 1 3; ln -s etc config; echo keep >etc/keep; echo x >var/cache/x; mkdir -m 1777 tmp
     printf name >"etc/$(printf 'not-\\377-utf8')"; touch -d '2001-02-03 04:05:06.5 UTC' etc/two; : >etc/empty`,
    `mkdir -p etc/deep/er var/cache config; echo two again >etc/two; : >etc/.wh.one; : >etc/deep/er/.wh.old
     echo fresh >var/cache/fresh; : >var/cache/.wh..wh..opq; : >.wh.home; rmdir config; echo longer >etc/empty`,
    `mkdir -p etc var; echo three >etc/three; ln etc/three etc/three-link; : >var/.wh.big; mkdir tmp; chmod 700 tmp`,
  ]

  test.each<Compression>(['gzip', 'zstd', 'none'])(
    'gives what buildah unpacks, from %s layers',
    async (compression) => {
      const reference = await publish(await layersOf(scripts, compression))
      const flat = await flatten(reference)
      const oracle = unpacked(reference)
      expect(flat.listing).toEqual(oracle.listing)
      expect(flat.linked).toEqual(oracle.linked)
      expect(flat.listing.size).toBeGreaterThan(15)
      expect(await readdir(join(dir, 'work'))).toEqual([])
    },
  )

  test('gives the same as buildah, for an image that buildah made and changed', async () => {
    const first = buildah('from', 'scratch')
    const tree = buildah('mount', first)
    run(['sh', '-euc', 'cd "$1"; mkdir -p a/b c; echo 1 >a/b/one; ln a/b/one c/two; echo 3 >three', 'sh', tree])
    buildah('config', '--env', 'GREETING=hello world', '--user', '1000', '--workingdir', '/a', '--cmd', 'sleep', first)
    const base = `${registry.address}/team/made:1`
    buildah('commit', '--format', 'oci', first, base)
    const second = buildah('from', '--pull-never', base)
    run([
      'sh',
      '-euc',
      'cd "$1"; rm -r a/b; mkdir a/b; echo new >a/b/new; rm three; echo dir >three; chmod 600 c/two',
      'sh',
      buildah('mount', second),
    ])
    const reference = `${registry.address}/team/made:2`
    buildah('commit', '--format', 'oci', second, reference)
    for (const image of [base, reference]) buildah('push', '--tls-verify=false', image)
    buildah('rm', first, second)
    const flat = await flatten(reference)
    expect(flat.listing).toEqual(unpacked(reference).listing)
    expect(flat.settings).toEqual({ user: '1000', workdir: '/a', env: { GREETING: 'hello world' } })
  })

  test('a hard link keeps its content if its target is hidden later or is in a lower layer', async () => {
    const lower = await tarOf(join(dir, 'links-0'), 'echo content >target')
    const both = join(dir, 'links-1')
    await tarOf(both, 'echo content >target; ln target link')
    const upper = run(['tar', '--numeric-owner', '-C', both, '-c', 'target', 'link'])
    const linkOnly = upper.subarray(1024)
    const hidden = await tarOf(join(dir, 'links-2'), ': >.wh.target')
    const layers = [lower, linkOnly, hidden].map((tar) => ({ tar, compression: 'gzip' as const }))
    const flat = await flatten(await publish(layers))
    expect([...flat.listing.keys()]).toEqual(['link'])
  })

  test.each([
    ['a path to the parent', 'mkdir d; echo x >d/x', ['--transform=s,d/x,../x,', '-P']],
    ['a name that hides the parent', ': >.wh...', []],
  ])('refuses a layer with %s', async (_what, script, flags) => {
    count += 1
    const tar = await tarOf(join(dir, `hostile-${count}`), script, ...flags)
    const reference = await publish([{ tar, compression: 'gzip' }])
    await expect(flatten(reference)).rejects.toMatchObject({ code: 'image_invalid' })
    expect(await readdir(join(dir, 'work'))).toEqual([])
  })

  test('refuses a layer that differs from its digest in the configuration', async () => {
    const [layer] = await layersOf(['echo a >a'], 'gzip')
    const reference = await publish([{ ...(layer as LayerSource), diffId: `sha256:${'0'.repeat(64)}` }])
    await expect(flatten(reference)).rejects.toMatchObject({ code: 'image_invalid' })
  })

  test('refuses a truncated layer', async () => {
    const tar = await tarOf(join(dir, 'cut'), 'head -c 100000 /dev/zero >a')
    const reference = await publish([{ tar: tar.subarray(0, 50_000), compression: 'gzip' }])
    await expect(flatten(reference)).rejects.toMatchObject({ code: 'image_invalid' })
  })

  test('refuses a blob that differs from its digest', async () => {
    const reference = await publish(await layersOf(['head -c 100000 /dev/urandom >a'], 'gzip'))
    const blobs = run([
      'find',
      join(registry.dir, 'data/docker/registry/v2/blobs'),
      '-type',
      'f',
      '-size',
      '+50k',
      '-newer',
      join(dir, `layout-${count}`, 'oci-layout'),
    ])
    for (const path of blobs.toString().trim().split('\n').slice(-1)) {
      const bytes = await readFile(path)
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
      await writeFile(path, bytes)
    }
    await expect(flatten(reference)).rejects.toMatchObject({
      code: expect.stringMatching(/^(image_invalid|source_unreachable)$/),
    })
  })

  test('stops at the limits for compressed and uncompressed bytes and for entries', async () => {
    const reference = await publish(await layersOf(['head -c 9000000 /dev/zero >zeros; echo a >a; echo b >b'], 'gzip'))
    for (const limits of [{ maxLayerBytes: 100 }, { maxBytes: 2 ** 20 }, { maxEntries: 2 }]) {
      await expect(flattenImage({ reference, signal, limits, workDir: dir })).rejects.toMatchObject({
        code: 'image_too_large',
      })
    }
  })

  test('refuses an image for another platform', async () => {
    const reference = await publish(await layersOf(['echo a >a'], 'gzip'), { architecture: 's390x' })
    await expect(flatten(reference)).rejects.toMatchObject({ code: 'platform_missing' })
  })

  test('reads its user from the top layers, and creates its working directory', async () => {
    const layers = await layersOf(
      [
        'mkdir etc real; ln -s real link; echo app:x:7:8::/:/bin/sh >etc/passwd; echo staff:x:50: >etc/group',
        'mkdir etc; echo app:x:1007:1008::/:/bin/sh >etc/passwd',
      ],
      'gzip',
    )
    const config = { User: 'app:staff', WorkingDir: '/link/deep/../work', Env: ['PATH=/x', 'A=1'] }
    const flat = await flatten(await publish(layers, { config }))
    expect(flat.settings).toEqual({ user: '1007:50', workdir: '/link/work', env: { A: '1' } })
    expect(flat.listing.get('real/work')).toMatch(/^d 755 0 0/)
  })

  test('reports the digest of the registry, and can be pulled by it', async () => {
    const first = await publish(await layersOf(['echo first >a'], 'gzip'))
    const index = run(['skopeo', 'inspect', '--raw', '--tls-verify=false', `docker://${first}`])
    await using image = await flattenImage({ reference: first, workDir: dir, signal })
    expect(image.digest).toBe(`sha256:${createHash('sha256').update(index).digest('hex')}`)
    await using same = await flattenImage({ reference: `${first}@${image.digest}`, workDir: dir, signal })
    expect(same.digest).toBe(image.digest)
  })

  test('reports a missing image', async () => {
    await expect(flatten(`${registry.address}/team/none:1`)).rejects.toMatchObject({ code: 'image_not_found' })
  })

  test('reports a registry that does not answer', async () => {
    await expect(flatten('127.0.0.1:1/team/none:1')).rejects.toMatchObject({ code: 'source_unreachable' })
  })

  test('an abort ends the pull and leaves nothing', async () => {
    const reference = await publish(await layersOf(['echo a >a'], 'gzip'))
    const controller = new AbortController()
    const pull = flattenImage({ reference, workDir: join(dir, 'work'), signal: controller.signal })
    controller.abort(new Error('enough'))
    await expect(pull).rejects.toThrow('enough')
    expect(await readdir(join(dir, 'work'))).toEqual([])
  })
})
