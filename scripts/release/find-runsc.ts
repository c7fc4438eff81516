import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Arch } from './facts.ts'
import { run } from './run.ts'

/** The runsc of a release. */
export interface Runsc {
  readonly path: string
  readonly version: string
  /** The text of its licences. */
  readonly copyright: string
}

/**
 * Returns the runsc that a release contains: this machine's, which set-up has installed, or for
 * another processor the same Debian package. This is the only place that chooses it.
 */
export async function findRunsc(root: string, arch: Arch): Promise<Runsc> {
  if (arch === process.arch) {
    const path = (await run(['sh', '-c', 'command -v runsc'])).trim()
    const [, version = ''] = /^runsc version (?:release-)?(\S+)/.exec(await run([path, '--version'])) ?? []
    return { path, version, copyright: await readFile('/usr/share/doc/runsc/copyright', 'utf8') }
  }
  const dir = join(root, '.holt/release', `runsc-${arch}`)
  if (!existsSync(join(dir, 'version'))) {
    await mkdir(dir, { recursive: true })
    await run(['bash', join(root, 'scripts/release/fetch-runsc.sh'), arch, dir], { cwd: root })
  }
  const [version, copyright] = await Promise.all(
    ['version', 'copyright'].map((name) => readFile(join(dir, name), 'utf8')),
  )
  return { path: join(dir, 'runsc'), version: version?.trim() ?? '', copyright: copyright ?? '' }
}
