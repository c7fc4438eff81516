import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { checkSite } from './check-site.ts'
import { runVitePress } from './run-vitepress.ts'
import { stage } from './stage.ts'
import { writeManifest } from './write-manifest.ts'

/**
 * Builds the site into a directory, with everything that `holtd` needs to serve it. An earlier
 * site there is replaced. Throws if a link leads nowhere. `sources` is a file for the list of the
 * sources of the site's scripts.
 */
export async function buildSite(out: string, sources: string | undefined = undefined): Promise<void> {
  await stage()
  await mkdir(dirname(out), { recursive: true })
  // Beside its place, so that the finished site arrives with one rename.
  const made = await mkdtemp(`${out}-`)
  try {
    await runVitePress('build', {
      HOLT_SITE_OUT: made,
      ...(sources === undefined ? {} : { HOLT_SITE_SOURCES: sources }),
    })
    await checkSite(made)
    await writeManifest(made)
    await chmod(made, 0o755)
    await rm(out, { recursive: true, force: true })
    await rename(made, out)
  } finally {
    await rm(made, { recursive: true, force: true })
  }
}
