import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { build } from 'vite'
import { SourceList } from './source-list.ts'
import { viteConfig } from './vite-config.ts'
import { writeManifest } from './write-manifest.ts'

/** The time in milliseconds by which a file's time of change may lag: two ticks of the kernel. */
const tickMs = 20

/**
 * Builds the console into a directory, with everything that `holtd` needs to serve it. An earlier
 * one there is replaced. The file `begun` is older than every source that is read, so a source that
 * changes meanwhile is newer. `sources` names a file for the list of all files whose code is in it.
 */
export async function buildConsole(out: string, sources?: string): Promise<void> {
  await mkdir(dirname(out), { recursive: true })
  // Beside its place, so that the finished console arrives with one rename.
  const work = await mkdtemp(`${out}-`)
  const made = join(work, 'console')
  try {
    await writeFile(join(work, 'begun'), '')
    await setTimeout(tickMs)
    const list = new SourceList()
    await build(viteConfig(made, [list.plugin]))
    if (sources !== undefined) await list.write(sources)
    await writeManifest(made)
    await rename(join(work, 'begun'), join(made, 'begun'))
    await chmod(made, 0o755)
    await rm(out, { recursive: true, force: true })
    await rename(made, out)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}
