import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { testLength } from '@holt/testkit'
import { expect, onTestFinished, test } from 'vitest'
import { blocksOf } from '../support/doc-blocks.ts'
import { busybox, run } from './support/lab.ts'
import { startLabRegistry } from './support/registry.ts'

const repository = join(import.meta.dirname, '../..')

/** The time of one build, in milliseconds. */
const buildMs = 1_200_000

async function emptyDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-image-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}

/** Returns the digest of each file that a build gives out. */
async function digestsIn(out: string): Promise<Readonly<Record<string, string>>> {
  const names = (await readdir(out)).filter((name) => /\.(?:tar|cdx\.json|deb)$/.test(name)).toSorted()
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await digestOf(join(out, name))])))
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

/** Returns the files in which the Debian packages of two builds differ, but for their sums. */
async function differences(one: string, other: string): Promise<readonly string[]> {
  const dir = await emptyDir()
  for (const [name, out] of Object.entries({ one, other }))
    expect((await run('sh', ['-c', `dpkg-deb -R ${out}/holt_*.deb ${dir}/${name}`])).code).toBe(0)
  const { out } = await run('diff', ['--recursive', '--brief', '--exclude=md5sums', `${dir}/one`, `${dir}/other`])
  return [...out.matchAll(/^Files \S*\/one\/(\S+) and .* differ$|^(Only in .*)$/gm)].map(
    ([, changed, alone]) => changed ?? alone ?? '',
  )
}

/** Runs the commands of the page. Its registry is another one, and `skopeo` a script for no TLS. */
async function buildAsPrinted(registry: string): Promise<void> {
  const page = await readFile(join(repository, 'docs/kubernetes.md'), 'utf8')
  const block = blocksOf('docs/kubernetes.md', page).find(({ commands }) => commands.includes('deploy/image/build'))
  const commands = block?.commands.replace('registry.example.com', registry)
  const bin = await emptyDir()
  const script = '#!/bin/sh\nPATH=$(echo "$PATH" | cut -d: -f2-) exec skopeo "$@" --dest-tls-verify=false\n'
  await writeFile(join(bin, 'skopeo'), script)
  await chmod(join(bin, 'skopeo'), 0o755)
  const made = await run('bash', ['-c', `set -eo pipefail; cd ${repository}\n${commands}`], {
    env: { PATH: `${bin}:${process.env.PATH}` },
    timeoutMs: buildMs,
  })
  expect([made.code, made.out]).toEqual([0, expect.stringContaining('.tar')])
}

test.skipIf(testLength() !== 'long' || !existsSync(busybox))(
  'the image is built and pushed as the page prints it, and a second build differs in runsc alone',
  { timeout: 2 * buildMs },
  async () => {
    await using registry = await startLabRegistry('127.0.0.1', busybox)
    await buildAsPrinted(registry.address)
    const { status } = await fetch(`http://${registry.address}/v2/holt/manifests/0.2.0`, {
      headers: { accept: 'application/vnd.oci.image.manifest.v1+json' },
    })
    expect(status).toBe(200)
    const own = join(repository, 'dist/image')
    const first = await digestsIn(own)
    expect(Object.keys(first)).toEqual([
      expect.stringMatching(/^holt-.*-image-.*\.cdx\.json$/),
      expect.stringMatching(/^holt-.*-image-.*\.tar$/),
      expect.stringMatching(/^holt_.*\.deb$/),
    ])
    const out = await emptyDir()
    const again = await run(join(repository, 'deploy/image/build'), ['--out', out], { timeoutMs: buildMs })
    expect([again.code, again.out]).toEqual([0, expect.stringContaining('.tar')])
    const [bill = ''] = Object.keys(first)
    expect((await digestsIn(out))[bill]).toBe(first[bill])
    // The filters of runsc have another order and the id of a process (LIMITATIONS.md).
    expect(await differences(own, out)).toEqual(['usr/lib/holt/lib/runsc'])
  },
)
