import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/**
 * Packs the client into one archive below a directory, by default dist/, and prints the command
 * that installs it: `node scripts/pack-sdk.ts [DIRECTORY]`.
 */
async function main(outDir: string): Promise<void> {
  await mkdir(outDir, { recursive: true })
  const built = await mkdtemp(join(tmpdir(), 'holt-sdk-'))
  try {
    execFileSync(process.execPath, [join(import.meta.dirname, 'build-sdk.ts'), built], { stdio: 'inherit' })
    const options = ['--json', '--loglevel=error', '--pack-destination', outDir]
    const [packed] = JSON.parse(execFileSync('npm', ['pack', built, ...options], { encoding: 'utf8' }))
    console.log(`npm install ${join(outDir, packed.filename)}`)
  } finally {
    await rm(built, { recursive: true, force: true })
  }
}

await main(resolve(process.argv[2] ?? join(import.meta.dirname, '../dist')))
