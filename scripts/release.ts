import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Arch, archs, type ReleaseFacts, readFacts } from './release/facts.ts'
import { sumsName, writeSums } from './release/hash-files.ts'
import { makeDeb } from './release/make-deb.ts'
import { makeTree } from './release/make-tree.ts'
import { packPackages } from './release/pack-packages.ts'
import { writeArchive } from './release/write-archive.ts'

const usage = `usage: npm run release -- [--out DIR] [--arch ${archs.join(',')}]`

/**
 * Makes every artifact of a release in a new directory: `release.ts [--out DIR] [--arch x64,arm64]`.
 * The same commit gives the same bytes. `scripts/lib/setup.sh` has to have run.
 */
async function main(args: readonly string[]): Promise<void> {
  const { out, arch } = parseArgs({
    args: [...args],
    options: {
      out: { type: 'string', default: join(import.meta.dirname, '../dist/release') },
      arch: { type: 'string', default: archs.join(',') },
    },
  }).values
  const wanted = arch.split(',').map(archOf)
  const facts = await readFacts(join(import.meta.dirname, '..'))
  await rm(out, { recursive: true, force: true })
  await mkdir(out, { recursive: true })
  const artifacts: string[] = []
  for (const arch of wanted) artifacts.push(...(await makeFor(arch, facts, out)))
  artifacts.push(...(await packPackages(facts.root, out)))
  await writeSums(out, artifacts)
  for (const name of [...artifacts, sumsName]) console.log(join(out, name))
}

function archOf(name: string): Arch {
  const arch = archs.find((known) => known === name)
  if (arch === undefined) throw new Error(`There is no release for ${name}\n${usage}`)
  return arch
}

/** Makes the artifacts for one processor, and returns their names. */
async function makeFor(arch: Arch, facts: ReleaseFacts, out: string): Promise<readonly string[]> {
  const name = `holt-${facts.version}-linux-${arch}`
  await makeTree(facts, arch, join(out, name))
  await writeArchive(join(out, name), join(out, `${name}.tar.gz`), facts)
  return [`${name}.tar.gz`, await makeDeb(join(out, name), facts, arch, out)]
}

await main(process.argv.slice(2))
