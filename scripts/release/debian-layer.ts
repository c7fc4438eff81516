import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Part } from './bundled-packages.ts'
import { type Arch, debArchs } from './facts.ts'
import { run } from './run.ts'

/** The Debian packages of the container image: scripts/release/debian.json. */
interface DebianLock {
  readonly suite: string
  /** The time of every file, in seconds since 1970. */
  readonly epochSecs: number
  /** The version of each package, by processor. */
  readonly packages: Readonly<Partial<Record<Arch, Readonly<Record<string, string>>>>>
}

/** The Debian layer of an image. */
export interface DebianLayer {
  /** The uncompressed tar. It is kept for the next image. */
  readonly file: string
  /** Its packages, for the bill of materials. */
  readonly packages: readonly Part[]
}

const lockName = 'scripts/release/debian.json'

/** Returns the lock of the image's Debian packages. */
async function readDebianLock(root: string): Promise<DebianLock> {
  return JSON.parse(await readFile(join(root, lockName), 'utf8'))
}

/**
 * Makes the Debian layer: the smallest system, with the packages that `deploy/debian/control`
 * needs. Throws if the mirror has other versions than the lock. With `update`, writes them into the
 * lock. Needs root, mmdebstrap and a Debian mirror.
 */
export async function makeDebianLayer(
  root: string,
  { arch, update }: { readonly arch: Arch; readonly update: boolean },
): Promise<DebianLayer> {
  const lock = await readDebianLock(root)
  const needed = packagesOf(await readFile(join(root, 'deploy/debian/control'), 'utf8'))
  const script = join(root, 'scripts/release/make-image-root.sh')
  const key = hashOf(JSON.stringify([lock, needed, await readFile(script, 'utf8')]))
  const kept = join(root, '.holt/release')
  const file = join(kept, `debian-${arch}-${key}.tar`)
  const locked = lock.packages[arch] ?? {}
  if (!update && existsSync(file)) return { file, packages: partsOf(locked, { lock, arch }) }
  await mkdir(kept, { recursive: true })
  const work = await mkdtemp(join(tmpdir(), 'holt-debian-'))
  try {
    const made = join(work, 'root.tar')
    const env = { SOURCE_DATE_EPOCH: String(lock.epochSecs) }
    await run(['bash', script, lock.suite, needed.join(','), made], { cwd: root, env })
    const status = await run(['tar', '--extract', '--to-stdout', `--file=${made}`, './var/lib/dpkg/status'])
    const found = installedOf(status)
    if (update) {
      const packages = { ...lock.packages, [arch]: found }
      await writeFile(join(root, lockName), `${JSON.stringify({ ...lock, packages }, null, 2)}\n`)
      return makeDebianLayer(root, { arch, update: false })
    }
    requireSame(locked, found)
    // The temporary directory may be on another file system.
    await copyFile(made, `${file}.new`)
    await rename(`${file}.new`, file)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  return { file, packages: partsOf(locked, { lock, arch }) }
}

/** Returns the names in the field Depends of a control file. */
export function packagesOf(control: string): readonly string[] {
  const depends = /^Depends: (.*)$/m.exec(control)?.[1] ?? ''
  return depends.split(',').map((one) => one.trim().split(' ')[0] ?? '')
}

/** Returns the versions of the installed packages of a dpkg status file, by name. */
export function installedOf(status: string): Readonly<Record<string, string>> {
  const entries = status.split('\n\n').flatMap((entry): [string, string][] => {
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(entry)?.[1]
    const [name, version] = [field('Package'), field('Version')]
    return name === undefined || version === undefined || field('Status') !== 'install ok installed'
      ? []
      : [[name, version]]
  })
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Throws if the mirror gave other packages than the lock has. */
export function requireSame(locked: Readonly<Record<string, string>>, found: Readonly<Record<string, string>>): void {
  const names = [...new Set([...Object.keys(locked), ...Object.keys(found)])].toSorted()
  const others = names.filter((name) => locked[name] !== found[name])
  if (others.length === 0) return
  const shown = others
    .slice(0, 10)
    .map((name) => `${name}: ${locked[name] ?? 'none'} locked, ${found[name] ?? 'none'} there`)
  throw new Error(
    `The mirror has other packages than ${lockName}:\n${shown.join('\n')}\nSet HOLT_DEBIAN_MIRROR to a snapshot of that day, or run deploy/image/build --update.`,
  )
}

function partsOf(
  packages: Readonly<Record<string, string>>,
  { lock, arch }: { readonly lock: DebianLock; readonly arch: Arch },
): readonly Part[] {
  return Object.entries(packages).map(([name, version]) => ({
    name,
    version,
    purl: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${debArchs[arch]}&distro=${lock.suite}`,
    license: null,
    texts: [],
  }))
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
