import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from './run.ts'

/** The packages for users' projects. Neither needs the other. */
const published = ['protocol', 'sdk'] as const

/**
 * Compiles and packs the npm packages for users into a directory: `holt-sdk-VERSION.tgz`. Returns
 * the names. npm gives each file in a tarball the same time.
 */
export async function packPackages(root: string, outDir: string): Promise<readonly string[]> {
  const scratch = await mkdtemp(join(tmpdir(), 'holt-pack-'))
  const names: string[] = []
  try {
    for (const name of published) {
      const { version } = JSON.parse(await readFile(join(root, 'packages', name, 'package.json'), 'utf8'))
      const compiled = join(scratch, name)
      await compile(root, name, compiled)
      await run(['npm', 'pack', '--silent', '--pack-destination', outDir, compiled], { cwd: scratch })
      names.push(`holt-${name}-${version}.tgz`)
    }
  } finally {
    await rm(scratch, { recursive: true })
  }
  return names
}

/** Compiles a package into a directory, with the manifest that is published. */
async function compile(root: string, name: string, outDir: string): Promise<void> {
  const cwd = join(root, 'packages', name)
  if (name === 'sdk') await run([process.execPath, join(root, 'scripts/build-sdk.ts'), outDir])
  else await compileSources(root, cwd, outDir)
  await run(['chmod', '-R', 'u=rwX,go=rX', outDir])
}

async function compileSources(root: string, cwd: string, outDir: string): Promise<void> {
  // Source maps would contain paths of this machine.
  const flags = ['--sourceMap', 'false']
  await run([join(root, 'node_modules/.bin/tsc'), '-p', 'tsconfig.build.json', ...flags, '--outDir', outDir], { cwd })
  await run([process.execPath, join(root, 'scripts/write-manifest.ts'), outDir], { cwd })
}
