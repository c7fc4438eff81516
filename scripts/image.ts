import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { emptyOwnDirectory } from './lib/empty-own-directory.ts'
import { buildSite } from './release/build-site.ts'
import { archs, readFacts } from './release/facts.ts'
import { makeDeb } from './release/make-deb.ts'
import { makeImage } from './release/make-image.ts'
import { makeTree } from './release/make-tree.ts'

const ownDir = join(import.meta.dirname, '../dist/image')

/**
 * Makes the container image of this machine's processor and its bill of materials in a new or empty
 * directory, by default dist/image: `deploy/image/build [--out DIR] [--update]`. With `--update` it
 * writes the versions of Debian's packages into scripts/release/debian.json.
 */
async function main(args: readonly string[]): Promise<void> {
  const { out: given, update } = parseArgs({
    args: [...args],
    options: { out: { type: 'string', default: ownDir }, update: { type: 'boolean', default: false } },
  }).values
  const arch = archs.find((known) => known === process.arch)
  if (arch === undefined) throw new Error(`There is no image for ${process.arch}`)
  const facts = await readFacts(join(import.meta.dirname, '..'))
  const out = resolve(given)
  await emptyOwnDirectory(out, ownDir)
  await using site = await buildSite(facts.root)
  const tree = join(out, `holt-${facts.version}-linux-${arch}`)
  const components = await makeTree(facts, arch, tree, site)
  const deb = await makeDeb(tree, facts, arch, out)
  for (const name of await makeImage({ arch, deb, components, update }, facts, out)) console.log(join(out, name))
}

await main(process.argv.slice(2))
