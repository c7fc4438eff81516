import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Part, readBundledPackages } from './bundled-packages.ts'
import { run } from './run.ts'

/** The built documentation site, in a directory that ends with its owner. */
export interface Site extends AsyncDisposable {
  readonly dir: string
  /** The npm packages with code in the site. */
  readonly packages: readonly Part[]
}

/** Builds the documentation site once, for every artifact. The same sources give the same bytes. */
export async function buildSite(root: string): Promise<Site> {
  const work = await mkdtemp(join(tmpdir(), 'holt-site-'))
  const remove = () => rm(work, { recursive: true, force: true })
  const dir = join(work, 'site')
  const sources = join(work, 'sources.json')
  try {
    await run(['bash', 'scripts/docs.sh', '--out', dir, '--sources', sources], { cwd: root })
    const packages = await readBundledPackages(join(root, 'site'), sources)
    return { dir, packages, [Symbol.asyncDispose]: remove }
  } catch (error) {
    await remove()
    throw error
  }
}
