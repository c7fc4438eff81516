import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { shareOf } from '@holt/testkit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BuildSettings, makeBaseImages, PullsUnderWay, runBuild } from '../src/index.ts'
import { type BuildRig, openImage, prepareRig, requestOf } from './support/build-rig.ts'
import { buildWithBuildah, pullWithBuildah } from './support/buildah.ts'
import { type CorpusCase, corpus } from './support/corpus.ts'
import { type Described, describeTree } from './support/describe-tree.ts'
import { directNetwork } from './support/direct-network.ts'
import { lacks, run } from './support/machine.ts'
import { tarOf, writeLayout } from './support/oci-image.ts'
import { type Registry, startRegistry } from './support/registry.ts'
import { makeSmallBase } from './support/small-base.ts'

const missing = lacks('runsc', 'runc', 'go', 'tar', 'buildah', 'skopeo', 'docker-registry', 'busybox')
const TIMEOUT_MS = 180_000

/** Files that only buildah leaves, whatever it builds, with the reason. */
const onlyTheirs: ReadonlyMap<string, string> = new Map([
  ...['etc/hostname', 'etc/hosts', 'etc/resolv.conf'].map(
    (path) => [path, 'an empty file where it mounts its own'] as const,
  ),
  ...['dev', 'etc', 'proc', 'run', 'run/secrets', 'sys'].map(
    (path) => [path, 'a directory in which it mounts'] as const,
  ),
])

/** The share of the other Dockerfiles that a short run builds. */
const shortShare = 1 / 10

/**
 * In the class without checkpoints as well: one of each kind of step. A short run builds a third
 * of them in `gvisor`, and a ninth in `container` too.
 */
const inContainer: ReadonlySet<string> = new Set([
  ...[
    'add-archives',
    'copy-chown',
    'copy-from-image',
    'copy-from-keeps',
    'deletes',
    'env-forms',
    'links',
    'mount-bind',
  ],
  ...['mount-cache', 'mount-secret', 'replace-kinds', 'run-heredoc', 'run-user', 'special-files', 'stages'],
])

describe.skipIf(missing !== '')(`what builds leave is what buildah leaves${missing}`, { timeout: TIMEOUT_MS }, () => {
  let rig: BuildRig
  let registry: Registry

  beforeAll(async () => {
    registry = await startRegistry()
    rig = await prepareRig(async (engine, dir) => {
      await push(dir, registry.address)
      const images = engine.ability('images')
      if (images === null) throw new Error('no images')
      const pulled = new Map<string, { imageDigest: `sha256:${string}`; sizeBytes: number; settings: BuildSettings }>()
      const store = {
        get: async (key: string) => pulled.get(key) ?? null,
        put: async (key: string, facts: typeof pulled extends Map<string, infer Facts> ? Facts : never) =>
          void pulled.set(key, facts),
      }
      const settings = { mirrors: [], insecure: ['127.0.0.1:*'] }
      return makeBaseImages({
        images,
        underWay: new PullsUnderWay(),
        network: directNetwork(),
        settings,
        store,
        workDir: dir,
      })
    })
    for (const name of ['base', 'busybox']) await pullWithBuildah(rig.dir, `${registry.address}/${name}:1`)
  }, TIMEOUT_MS)
  afterAll(async () => {
    await rig[Symbol.asyncDispose]()
    await registry[Symbol.asyncDispose]()
  }, TIMEOUT_MS)

  test.each(drawn())('$name', async (each) => {
    const { name, target, buildArgs, secrets, differs } = each
    const from = join(rig.dir, `context-${name}`)
    each.prepare(from)
    const text = each.oracle(registry.address)
    const oracle = buildWithBuildah(rig.dir, { ...each, text, context: from })
    const theirs = oracle.catch((error: unknown) => error)
    const startedSecs = Math.floor(Date.now() / 1000)
    const request = requestOf('', {
      source: { type: 'dockerfile', text: each.dockerfile(registry.address), target },
      ...{ context: await rig.contextOf(from), buildArgs, buildSecrets: secrets },
    })
    for (const isolation of classesOf(name)) {
      const { imageDigest } = await runBuild(request, rig.host(isolation), AbortSignal.timeout(TIMEOUT_MS))
      await using reader = await openImage(rig.dir, imageDigest)
      const root = await reader.find('/')
      if (root === null) throw new Error('an image has a root')
      const ours = await describeTree(reader.entries(root))
      await theirs
      expect(differences(ours, await oracle, { startedSecs, differs })).toEqual([])
    }
  })
})

/** Returns the cases of this run: a third of those with one kind of step, and some others. */
function drawn(): readonly CorpusCase[] {
  const [both, one] = [true, false].map((wanted) => corpus().filter(({ name }) => inContainer.has(name) === wanted))
  return [...shareOf(both ?? [], 1 / 3, 'kinds of steps'), ...shareOf(one ?? [], shortShare, 'Dockerfiles')]
}

const drawnInContainer = shareOf(
  drawn().flatMap(({ name }) => (inContainer.has(name) ? [name] : [])),
  1 / 3,
  'Dockerfiles in the class container',
)

function classesOf(name: string): readonly ('gvisor' | 'container')[] {
  return drawnInContainer.includes(name) ? ['gvisor', 'container'] : ['gvisor']
}

/** busybox with its links, as its own image has it. */
const makeBusybox = `
mkdir -p bin etc home root tmp; chmod 1777 tmp; chmod 700 root
cp "$(command -v busybox)" bin/busybox
bin/busybox --list | while read -r name; do [ -e "bin/$name" ] || ln -s busybox "bin/$name"; done
printf 'root:x:0:0:root:/root:/bin/sh\n' > etc/passwd; printf 'root:x:0:\n' > etc/group
find . -exec touch -h -d @1700000000 {} +`

/** Puts the two small images of the corpus into a registry. */
async function push(dir: string, address: string): Promise<void> {
  const tree = join(dir, 'base-tree')
  await mkdir(tree)
  makeSmallBase(tree)
  const base = await tarOf(tree, 'true')
  const busybox = await tarOf(join(dir, 'busybox-tree'), makeBusybox)
  const config = { Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'] }
  for (const [name, tar] of [
    ['base', base],
    ['busybox', busybox],
  ] as const) {
    await writeLayout(join(dir, name), [{ tar, compression: 'gzip' }], { config })
    run(['skopeo', 'copy', '--dest-tls-verify=false', `oci:${join(dir, name)}`, `docker://${address}/${name}:1`])
  }
}

/** Returns the differences between two trees, path by path. */
function differences(
  ours: ReadonlyMap<string, Described>,
  theirs: ReadonlyMap<string, Described>,
  { startedSecs, differs }: { readonly startedSecs: number; readonly differs: Readonly<Record<string, string>> },
): string[] {
  const paths = [...new Set([...ours.keys(), ...theirs.keys()])].sort()
  return paths.flatMap((path) => {
    // Their archive has no entry for the root.
    if (path in differs || path === '') return []
    const [one, other] = [ours.get(path), theirs.get(path)]
    if (one === undefined && onlyTheirs.has(path)) return []
    if (one === undefined || other === undefined)
      return [`${path}: ${one?.what ?? 'absent'} | ${other?.what ?? 'absent'}`]
    const found: string[] = []
    if (one.what !== other.what) found.push(`${path}: ${one.what} | ${other.what}`)
    if (one.names !== other.names) found.push(`${path}: ${one.names} | ${other.names}`)
    // Files that steps write have the time of their build; copied files keep their own.
    const old = [one.mtimeSecs, other.mtimeSecs].some((secs) => secs !== null && secs < startedSecs - 60)
    if (old && one.mtimeSecs !== other.mtimeSecs) found.push(`${path}: time ${one.mtimeSecs} | ${other.mtimeSecs}`)
    return found
  })
}
