import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from './run.ts'

/** A package of the npm registry. A release contains exactly this version. */
export interface Pinned {
  readonly version: string
  /** Subresource Integrity, as in package-lock.json. */
  readonly integrity: string
}

/** Reads the pins of the packages. Throws if they name another Node than package-lock.json. */
export async function readPins(root: string): Promise<Readonly<Record<string, Pinned>>> {
  const [pins, lock] = await Promise.all(
    ['scripts/release/pins.json', 'package-lock.json'].map(async (file) =>
      JSON.parse(await readFile(join(root, file), 'utf8')),
    ),
  )
  const tested = lock.packages['node_modules/node'].version as string
  for (const [name, { version }] of Object.entries(pins as Record<string, Pinned>)) {
    if (name.startsWith('node-') && version !== tested)
      throw new Error(`scripts/release/pins.json has ${name} ${version}, but the tests run with Node ${tested}`)
  }
  return pins
}

/** Returns the path of a pinned package's tarball. It is fetched once, and verified each time. */
export async function fetchPinned(root: string, name: string): Promise<string> {
  const pinned = (await readPins(root))[name]
  if (pinned === undefined) throw new Error(`scripts/release/pins.json has no ${name}`)
  const kept = join(root, '.holt/release')
  const file = join(kept, `${name}-${pinned.version}.tgz`)
  if (!existsSync(file)) {
    await mkdir(kept, { recursive: true })
    const dir = await mkdtemp(join(kept, 'fetch-'))
    await run(['npm', 'pack', '--silent', '--pack-destination', dir, `${name}@${pinned.version}`], { cwd: dir })
    await rename(join(dir, `${name}-${pinned.version}.tgz`), file)
    await rm(dir, { recursive: true })
  }
  const digest = createHash('sha512')
    .update(await readFile(file))
    .digest('base64')
  if (`sha512-${digest}` !== pinned.integrity)
    throw new Error(`${file} is not the package of scripts/release/pins.json: remove it and try again`)
  return file
}
