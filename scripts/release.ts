import { copyFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { emptyOwnDirectory } from './lib/empty-own-directory.ts'
import { buildSite, type Site } from './release/build-site.ts'
import { type Arch, archs, type ReleaseFacts, readFacts } from './release/facts.ts'
import { sumsName, writeSums } from './release/hash-files.ts'
import { makeDeb } from './release/make-deb.ts'
import { makeImage } from './release/make-image.ts'
import { type Components, makeTree } from './release/make-tree.ts'
import { packPackages } from './release/pack-packages.ts'
import { writeArchive } from './release/write-archive.ts'
import { notesName, writeNotes } from './release/write-notes.ts'

const ownDir = join(import.meta.dirname, '../dist/release')

const usage = `usage: npm run release -- [--out DIR] [--arch ${archs.join(',')}] [--image]`

/**
 * Makes every artifact of a release in a new or empty directory, by default dist/release:
 * `release.ts [--out DIR] [--arch x64,arm64] [--image]`. The same commit gives the same bytes.
 * `scripts/lib/setup.sh` has to have run.
 */
async function main(args: readonly string[]): Promise<void> {
  const { arch, image, ...given } = parseArgs({
    args: [...args],
    options: {
      out: { type: 'string', default: ownDir },
      arch: { type: 'string', default: archs.join(',') },
      image: { type: 'boolean', default: false },
    },
  }).values
  const wanted = arch.split(',').map(archOf)
  const facts = await readFacts(join(import.meta.dirname, '..'))
  const out = resolve(given.out)
  await emptyOwnDirectory(out, ownDir)
  await using site = await buildSite(facts.root)
  const made: Made[] = []
  for (const arch of wanted) made.push(await makeFor(arch, facts, out, site))
  const artifacts = [...made.flatMap(({ names }) => names), ...(await packPackages(facts.root, out))]
  const own = made.find((one) => one.arch === process.arch)
  if (image && own !== undefined) artifacts.push(...(await makeImage(own, facts, out)))
  const [first] = made
  if (first !== undefined) await writeNotes(out, { facts, components: first.components, artifacts })
  await writeSums(out, [...artifacts, notesName])
  for (const name of [...artifacts, notesName, sumsName]) console.log(join(out, name))
}

function archOf(name: string): Arch {
  const arch = archs.find((known) => known === name)
  if (arch === undefined) throw new Error(`There is no release for ${name}\n${usage}`)
  return arch
}

/** The artifacts for one processor. */
interface Made {
  readonly arch: Arch
  readonly deb: string
  readonly names: readonly string[]
  readonly components: Components
}

async function makeFor(arch: Arch, facts: ReleaseFacts, out: string, site: Site): Promise<Made> {
  const name = `holt-${facts.version}-linux-${arch}`
  const components = await makeTree(facts, arch, join(out, name), site)
  await writeArchive(join(out, name), join(out, `${name}.tar.gz`), facts)
  await copyFile(join(out, name, 'sbom.cdx.json'), join(out, `${name}.cdx.json`))
  const deb = await makeDeb(join(out, name), facts, arch, out)
  return { arch, deb, names: [`${name}.tar.gz`, deb, `${name}.cdx.json`], components }
}

await main(process.argv.slice(2))
