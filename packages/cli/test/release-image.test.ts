import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { testLength } from '@holt/testkit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { installedOf, packagesOf, requireSame } from '../../../scripts/release/debian-layer.ts'
import { run } from '../../../scripts/release/run.ts'
import { writeOci } from '../../../scripts/release/write-oci.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
/** A system of Debian is installed twice. */
const twiceMs = 1_200_000

let work: string
beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'holt-image-test-'))
})
afterAll(() => rm(work, { recursive: true }))

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

test('the same layers and configuration give the same archive', async () => {
  await writeFile(join(work, 'file'), 'content')
  const layer = join(work, 'layer.tar')
  await run(['tar', '--create', `--file=${layer}`, `--directory=${work}`, 'file'])
  const image = {
    architecture: 'amd64',
    name: 'holt:1',
    epochSecs: 1_700_000_000,
    layers: [{ file: layer, createdBy: 'a test' }],
    config: { Cmd: ['serve'] },
  }
  const [one, two] = [join(work, 'one.tar'), join(work, 'two.tar')]
  const digest = await writeOci(one, image)
  expect(await writeOci(two, image)).toBe(digest)
  expect(await sha256Of(two)).toBe(await sha256Of(one))
  expect(await writeOci(two, { ...image, config: { Cmd: ['doctor'] } })).not.toBe(digest)

  const read = async (name: string) => JSON.parse(await run(['tar', '--extract', '--to-stdout', `--file=${one}`, name]))
  const [entry] = (await read('index.json')).manifests
  expect(entry).toMatchObject({ digest, annotations: { 'io.containerd.image.name': 'docker.io/library/holt:1' } })
  const manifest = await read(`blobs/sha256/${digest.slice(7)}`)
  const config = await read(`blobs/sha256/${manifest.config.digest.slice(7)}`)
  expect(config.rootfs.diff_ids).toEqual([`sha256:${await sha256Of(layer)}`])
  expect(config.config).toEqual({ Cmd: ['serve'] })
})

test('the packages of the image are those that the Debian package needs', async () => {
  const control = await readFile(join(repository, 'deploy/debian/control'), 'utf8')
  expect(packagesOf(control)).toEqual(expect.arrayContaining(['libc6', 'runc', 'skopeo', 'util-linux']))
  const { packages } = JSON.parse(await readFile(join(repository, 'scripts/release/debian.json'), 'utf8'))
  expect(Object.keys(packages.x64)).toEqual(expect.arrayContaining([...packagesOf(control)]))
})

test('only installed packages are in a list of dpkg', () => {
  const entry = (name: string, status: string) => `Package: ${name}\nStatus: ${status}\nVersion: 1.0-1\n`
  const text = [entry('zlib1g', 'install ok installed'), entry('gone', 'deinstall ok config-files')].join('\n')
  expect(installedOf(text)).toEqual({ zlib1g: '1.0-1' })
})

test('a mirror with other versions is refused by name', () => {
  expect(() => requireSame({ runc: '1.1' }, { runc: '1.1' })).not.toThrow()
  expect(() => requireSame({ runc: '1.1', tar: '1' }, { runc: '1.2', tar: '1', zlib1g: '2' })).toThrow(
    /runc: 1\.1 locked, 1\.2 there\nzlib1g: none locked, 2 there\n.*--update/s,
  )
})

// A short run leaves this out: it installs two systems, which takes minutes and a mirror.
describe.skipIf(testLength() === 'short' || process.getuid?.() !== 0)('the Debian layer', () => {
  test('has the same bytes each time', { timeout: twiceMs }, async () => {
    const control = await readFile(join(repository, 'deploy/debian/control'), 'utf8')
    const digests: string[] = []
    for (const name of ['debian-1.tar', 'debian-2.tar']) {
      const script = join(repository, 'scripts/release/make-image-root.sh')
      const target = join(work, name)
      const env = { SOURCE_DATE_EPOCH: '1700000000' }
      await run(['bash', script, 'trixie', packagesOf(control).join(','), target], { cwd: repository, env })
      digests.push(await sha256Of(target))
    }
    expect(digests[1]).toBe(digests[0])
  })
})
