import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { link, mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { Engine, ImageDigest, ImageStore, Isolation, RuntimeSpec } from '@holt/engine'
import type { GuestClient } from '@holt/guest-client'
import { byLength } from '@holt/testkit'
import { expect, test } from 'vitest'
import { copyPrograms } from '../support/copy-programs.ts'
import {
  type EngineUnderTest,
  importDelta,
  importImage,
  prepareEngine,
  runCommand,
  smallSpec,
  startGuest,
  timeout,
  VERB_TIMEOUT_MS,
} from '../support/engine-under-test.ts'
import { startDaemon } from '../support/start-daemon.ts'
import { missing } from '../support/test-machine.ts'

const reason = await missing('root', 'go', 'runsc', 'runc')
const options = { timeout: VERB_TIMEOUT_MS * 4 }
const ensuring = new URL('../support/ensure-in-daemon.ts', import.meta.url)
const both = ['gvisor', 'container'] as const
const MIB = 2 ** 20
/** The images that are built on one. */
const images = byLength({ short: 6, long: 18, soak: 18 })
/** Content that only the base has. */
const BASE_BYTES = 24 * MIB
/**
 * The most that a delta takes beside its content: its frame, and the names and attributes of a
 * small tree.
 */
const DELTA_BYTES = MIB / 2

function imagesOf(engine: Engine): ImageStore {
  const images = engine.ability('images')
  if (images === null) throw new Error('no images')
  return images
}

/** An engine with a base whose files take room. */
async function prepareBase(): Promise<{ under: EngineUnderTest; engine: Engine; base: ImageDigest }> {
  const under = await prepareEngine()
  await copyPrograms(under.tree, 'sh', 'dd', 'rm')
  await writeFile(join(under.tree, 'base'), randomBytes(BASE_BYTES))
  const engine = await under.open()
  return { under, engine, base: await importImage(engine, under) }
}

/** Makes an image of a runtime in which a command has run. */
async function build(
  engine: Engine,
  { base, isolation, command }: { readonly base: ImageDigest; readonly isolation: Isolation; readonly command: string },
): Promise<ImageDigest> {
  const spec = smallSpec(isolation, base)
  const guest = await startGuest(engine, spec)
  expect(await runCommand(guest, '/bin/sh', '-c', command)).toMatchObject({ exitCode: 0 })
  const { body } = await guest.trees.export({ onlyChanged: isolation === 'gvisor' }, timeout())
  const { digest } = await imagesOf(engine).import(body, timeout(), { base })
  await engine.remove(spec.id, timeout())
  return digest
}

/** Bytes that the directory of images takes, each file counted once. */
async function bytesOf({ options: { stateDir } }: EngineUnderTest): Promise<number> {
  const dir = join(stateDir, 'images')
  const found = new Map<number, number>()
  for (const name of await readdir(dir)) {
    const { ino, blocks } = await stat(join(dir, name))
    found.set(ino, blocks * 512)
  }
  return [...found.values()].reduce((sum, bytes) => sum + bytes, 0)
}

/** Makes a directory with entries of each kind that an image can have. */
async function addOfEachKind(dir: string): Promise<void> {
  for (const name of ['replaced', 'emptied', 'moved/deep', 'removed']) await mkdir(join(dir, name), { recursive: true })
  const paths = [
    'kept',
    'gone',
    'mode',
    'owner',
    'time',
    'removed/file',
    'replaced/file',
    'emptied/file',
    'moved/deep/file',
  ]
  for (const path of [...paths, 'becomes-dir', 'grows']) await writeFile(join(dir, path), path)
  await writeFile(Buffer.concat([Buffer.from(`${dir}/bytes-`), Buffer.from([0xff, 0xfe])]), 'a name that is not UTF-8')
  for (const [from, to] of [
    ['kept', 'linked'],
    ['kept', 'moved/linked'],
    ['grows', 'grows-too'],
    ['mode', 'gone-too'],
  ] as const)
    await link(join(dir, from), join(dir, to))
  await symlink('kept', join(dir, 'symlink'))
  execFileSync('mkfifo', [join(dir, 'fifo')])
  execFileSync('mknod', [join(dir, 'device'), 'c', '1', '3'])
}

/**
 * Changes that a runtime makes to such a directory: whiteouts, opaque directories, copies of each
 * kind.
 */
const changes = `
cd /below
rm -f gone gone-too; rm -rf removed; rm -rf replaced; mkdir replaced; echo new > replaced/new
rm -f emptied/file; rm -f becomes-dir; mkdir becomes-dir; echo in > becomes-dir/in
mv moved elsewhere; chmod 0600 mode; chown 5:6 owner; touch -d '2001-02-03 04:05:06.123456789' time
echo more >> grows; ln linked elsewhere/third; mkdir -p /above/deep; ln symlink /above/link; mkfifo /above/fifo
mknod /above/device c 1 5; chmod 0711 /above; touch -h -d '2002-03-04 05:06:07.000000001' /above/deep`

async function* streamOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 1 << 16) yield bytes.subarray(at, at + (1 << 16))
}

async function filesOf({ options: { stateDir } }: EngineUnderTest): Promise<string[]> {
  return (await readdir(join(stateDir, 'images'))).sort()
}

async function start(engine: Engine, isolation: Isolation, image: ImageDigest) {
  const spec: RuntimeSpec = smallSpec(isolation, image)
  const guest: GuestClient = await startGuest(engine, spec)
  return { spec, guest }
}

test.skipIf(reason !== null).each(both)(
  `${images} images on one base use only the space of their additions, in %s (${reason ?? 'ready'})`,
  options,
  async (isolation) => {
    const { under, engine, base } = await prepareBase()
    await using _ = under
    const before = await bytesOf(under)
    const made: ImageDigest[] = []
    for (let index = 0; index < images; index += 1)
      made.push(await build(engine, { base, isolation, command: `echo ${index} > /number` }))
    expect(new Set(made).size).toBe(images)
    expect((await bytesOf(under)) - before).toBeLessThan(images * DELTA_BYTES)
    for (const { digest, sizeBytes } of await imagesOf(engine).list())
      expect(sizeBytes, digest).toBeGreaterThan(BASE_BYTES)
    await engine.close()
    expect(await under.leaks()).toEqual([])
  },
)

test.skipIf(reason !== null).each(both)(
  `an image survives the removal of its base images, in %s (${reason ?? 'ready'})`,
  options,
  async (isolation) => {
    const { under, engine, base } = await prepareBase()
    await using _ = under
    const first = await build(engine, { base, isolation, command: 'echo first > /first; rm /etc/group' })
    const second = await build(engine, { base: first, isolation, command: 'echo second > /second' })
    const beside = await build(engine, { base, isolation, command: 'echo beside > /beside' })
    const images = imagesOf(engine)
    const running = await start(engine, isolation, second)
    await expect(images.remove(second)).rejects.toMatchObject({ kind: 'in_use' })
    await images.remove(base)
    await images.remove(first)
    const look = 'cat /first /second; dd if=/base of=/copy bs=1048576 2>/dev/null; echo $?; cat /etc/group 2>&1'
    const restarted = await start(engine, isolation, second)
    for (const { guest } of [running, restarted]) {
      const { output } = await runCommand(guest, '/bin/sh', '-c', look)
      expect(output).toMatch(/^first\nsecond\n0\n.*group/s)
    }
    await Promise.all([running, restarted].map(({ spec }) => engine.remove(spec.id, timeout())))
    await engine.close()

    // The next process finds them as well, and the last image that goes takes all of the room.
    const next = await under.open()
    const again = await start(next, isolation, beside)
    expect((await runCommand(again.guest, '/bin/sh', '-c', 'cat /beside')).output).toBe('beside\n')
    await next.remove(again.spec.id, timeout())
    for (const { digest } of await imagesOf(next).list()) await imagesOf(next).remove(digest)
    expect(await filesOf(under)).toEqual(['.mnt'])
    await next.close()
    expect(await under.leaks()).toEqual([])
  },
)

test.skipIf(reason !== null)(
  `an export without base content makes the same image as the whole tree, in gvisor (${reason ?? 'ready'})`,
  options,
  async () => {
    await using under = await prepareEngine()
    await copyPrograms(
      under.tree,
      'sh',
      'rm',
      'rmdir',
      'ln',
      'mv',
      'mkdir',
      'mkfifo',
      'mknod',
      'chmod',
      'chown',
      'touch',
    )
    await writeFile(join(under.tree, 'base'), randomBytes(BASE_BYTES))
    await addOfEachKind(join(under.tree, 'below'))
    const engine = await under.open()
    const base = await importImage(engine, under)
    const images = imagesOf(engine)
    let image = base
    // The second round is a delta on a delta.
    for (const change of [
      changes,
      'echo again > /above/new; rm /above/link; mv /below/kept /kept; chmod 0700 /above/deep',
    ]) {
      const { spec, guest } = await start(engine, 'gvisor', image)
      expect(await runCommand(guest, '/bin/sh', '-ec', change)).toMatchObject({ exitCode: 0 })
      const parts = await buffer((await guest.trees.export({ onlyChanged: true }, timeout())).body)
      const whole = await buffer((await guest.trees.export({ onlyChanged: false }, timeout())).body)
      expect(whole.length).toBeGreaterThan(BASE_BYTES)
      expect(parts.length).toBeLessThan(BASE_BYTES / 8)
      const made = await images.import(streamOf(parts), timeout(), { base: image })
      expect(await images.import(streamOf(whole), timeout(), { base: image })).toEqual(made)
      image = made.digest
      await engine.remove(spec.id, timeout())
    }
    await engine.close()
    expect(await under.leaks()).toEqual([])
  },
)

test.skipIf(reason !== null)(
  `a container has its image while a delta on it is mounted (${reason ?? 'ready'})`,
  options,
  async () => {
    const { under, engine, base } = await prepareBase()
    await using _ = under
    const delta = await build(engine, { base, isolation: 'gvisor', command: 'echo more > /more' })
    const above = await start(engine, 'gvisor', delta)
    const below = await start(engine, 'container', base)
    expect((await runCommand(below.guest, '/bin/sh', '-c', 'echo below')).output).toBe('below\n')
    await Promise.all([above, below].map(({ spec }) => engine.remove(spec.id, timeout())))
    await engine.close()
    expect(await under.leaks()).toEqual([])
  },
)

test.skipIf(reason !== null).each(both)(
  `a %s of a delta survives a kill of its daemon, and its mounts end with it (${reason ?? 'ready'})`,
  options,
  async (isolation) => {
    const { under, engine, base } = await prepareBase()
    await using _ = under
    const spec = smallSpec(isolation, await importDelta(engine, under, base))
    await engine.close()
    const daemon = startDaemon(under, ensuring, { spec })
    await daemon.said('ensured')
    await daemon.kill()
    const next = await under.open()
    const guest = await startGuest(next, spec)
    expect((await runCommand(guest, '/bin/echo', 'here')).output).toBe('here\n')
    await next.remove(spec.id, timeout())
    expect(await under.leaks()).toEqual([])
    await next.close()
  },
)

test.skipIf(reason !== null)(
  `the next start removes files of an unfinished import, and nothing else (${reason ?? 'ready'})`,
  options,
  async () => {
    const { under, engine, base } = await prepareBase()
    await using _ = under
    const delta = await importDelta(engine, under, base)
    await engine.close()
    const dir = join(under.options.stateDir, 'images')
    const [file, orphan] = [join(dir, `${base.slice(7)}.erofs`), join(dir, `${'a'.repeat(64)}.base`)]
    for (const target of [orphan, join(dir, '.tmp-0.base')]) await link(file, target)
    await writeFile(join(dir, '.tmp-0'), 'half')
    // A daemon that tried whether deltas can be mounted, and one that had attached a device and not
    // mounted it.
    const probe = join(dir, '.tmp-1/whole')
    await mkdir(probe, { recursive: true })
    execFileSync('mount', ['-t', 'erofs', '-o', 'loop,ro', file, probe])
    execFileSync('losetup', ['--find', '--read-only', join(dir, `${delta.slice(7)}.base`)])
    const next = await under.open()
    expect(await filesOf(under)).toEqual(
      ['.mnt', `${base.slice(7)}.erofs`, `${delta.slice(7)}.base`, `${delta.slice(7)}.erofs`].sort(),
    )
    expect(await under.leaks()).toEqual([])
    await next.close()
  },
)
