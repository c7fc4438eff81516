import { copyFile, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { makeBundle } from '../bundle/make-bundle.ts'
import { buildGuest } from './build-guest.ts'
import { buildRunsc } from './build-runsc.ts'
import type { Site } from './build-site.ts'
import { type Part, readBundledPackages } from './bundled-packages.ts'
import { documents, linkedDocuments } from './documents.ts'
import type { Arch, ReleaseFacts } from './facts.ts'
import { readGoModules } from './go-modules.ts'
import { writeSums } from './hash-files.ts'
import { fetchPinned, readPins } from './pinned-packages.ts'
import { run } from './run.ts'
import { writeSbom } from './sbom.ts'

/**
 * The places in a release of the files that sources name: relative to lib/bundle, by path in the
 * repository.
 */
const released = {
  'README.md': '../../share/doc/README.md',
  'dist/console': '../../share/console',
  'dist/docs': '../../share/site',
  'guest/holt-guest': '../holt-guest',
  'lib/npm': '../npm',
  'packages/cli/bin/holt': '../../bin/holt',
  'runsc/runsc': '../runsc',
  templates: '../../share/templates',
} as const

/** The contents of a release directory in addition to the files of this repository. */
export interface Components {
  readonly node: string
  readonly npm: string
  readonly runsc: string
  readonly bundled: readonly Part[]
  /** The Go modules of the guest and of runsc. */
  readonly modules: readonly Part[]
}

/**
 * Makes the directory of a release for one processor. It has everything that Holt brings, and runs
 * from any place:
 *
 *     bin/holt bin/holtd                                   the launchers
 *     lib/node lib/npm lib/runsc lib/holt-guest lib/bundle  the programs
 *     share/templates share/systemd share/doc share/site share/console share/licenses
 *     install.sh manifest.json sbom.cdx.json SHA256SUMS
 */
export async function makeTree(facts: ReleaseFacts, arch: Arch, dir: string, site: Site): Promise<Components> {
  const { root } = facts
  for (const name of ['lib/bundle', 'lib/npm', 'share/licenses']) await mkdir(join(dir, name), { recursive: true })
  await copyOwnFiles(root, dir)
  await cp(site.dir, join(dir, 'share/site'), { recursive: true })
  const inConsole = await buildConsoleInto(root, join(dir, 'share/console'))
  const bundled = await bundleInto(facts, join(dir, 'lib/bundle'))
  await buildGuest(facts, arch, join(dir, 'lib/holt-guest'))
  const guest = await readGoModules(root, 'guest', join(dir, 'lib/holt-guest'))
  const { node, npm } = await unpackNode(root, arch, dir)
  const runsc = await buildRunsc(root, arch, join(dir, 'lib/runsc'))
  const gvisor = await readGoModules(root, 'runsc', join(dir, 'lib/runsc'))
  await writeFile(join(dir, 'share/licenses/bundle.txt'), licencesOf(bundled))
  await writeFile(join(dir, 'share/licenses/site.txt'), licencesOf(site.packages))
  await writeFile(join(dir, 'share/licenses/console.txt'), licencesOf(inConsole))
  await writeFile(join(dir, 'share/licenses/holt-guest.txt'), licencesOf(guest))
  await writeFile(join(dir, 'share/licenses/runsc.txt'), licencesOf(gvisor))
  const modules = distinct([...guest, ...gvisor])
  const components = { node, npm, runsc, bundled: distinct([...bundled, ...site.packages, ...inConsole]), modules }
  const { version, commit } = facts
  await writeJson(join(dir, 'manifest.json'), { name: 'holt', version, commit, arch, node, npm, runsc })
  await writeSbom(join(dir, 'sbom.cdx.json'), { facts, arch, components })
  await writeSums(dir)
  return components
}

/**
 * Copies the launchers, templates, units, the installer, the pages and the examples. Pages and
 * examples keep their relative paths, and the targets of their links are there, so that links work.
 */
async function copyOwnFiles(root: string, dir: string): Promise<void> {
  await cp(join(root, 'deploy/release/bin'), join(dir, 'bin'), { recursive: true })
  await cp(join(root, 'templates'), join(dir, 'share/templates'), { recursive: true })
  // Python leaves compiled code beside a program that was run.
  const filter = (path: string) => basename(path) !== '__pycache__'
  for (const name of [...documents, ...linkedDocuments])
    await cp(join(root, name), join(dir, 'share/doc', name), { recursive: true, filter })
  await copyFile(join(root, 'LICENSE'), join(dir, 'share/licenses/holt.txt'))
  await copyFile(join(root, 'scripts/install.sh'), join(dir, 'install.sh'))
  await mkdir(join(dir, 'share/systemd'))
  for (const name of await readdir(join(root, 'deploy/systemd'))) {
    const unit = await readFile(join(root, 'deploy/systemd', name), 'utf8')
    await writeFile(join(dir, 'share/systemd', name), unitOfRelease(unit))
  }
}

/** Returns a unit with `@HOLT@` for the directory of the release. The installer replaces it. */
function unitOfRelease(unit: string): string {
  return unit
    .replaceAll('/opt/holt/packages/server/bin/', '@HOLT@/bin/')
    .replaceAll('/opt/holt/docs/', '@HOLT@/share/doc/docs/')
}

/** Returns each package once. */
function distinct(parts: readonly Part[]): readonly Part[] {
  return [...new Map(parts.map((part) => [part.purl, part])).values()]
}

/** Builds the console. Returns the npm packages with code in it. */
async function buildConsoleInto(root: string, dir: string): Promise<readonly Part[]> {
  const sources = `${dir}-sources.json`
  await run([process.execPath, 'scripts/build-console.ts', dir, sources], { cwd: root })
  const packages = await readBundledPackages(root, sources)
  await rm(sources)
  return packages
}

async function bundleInto({ root, version, commit }: ReleaseFacts, outDir: string): Promise<readonly Part[]> {
  await makeBundle({ root, outDir, id: `${version}-${commit}`, released })
  const list = join(outDir, 'files.json')
  const packages = await readBundledPackages(root, list)
  await rm(list)
  return packages
}

async function unpackNode(root: string, arch: Arch, dir: string): Promise<{ node: string; npm: string }> {
  const nodePackage = `node-linux-${arch}`
  const pins = await readPins(root)
  const unpack = (file: string, into: string, ...options: string[]) =>
    run(['tar', '--extract', '--no-same-owner', `--file=${file}`, `--directory=${into}`, ...options])
  const strip = (count: number) => `--strip-components=${count}`
  const node = await fetchPinned(root, nodePackage)
  await unpack(node, join(dir, 'lib'), strip(2), 'package/bin/node')
  await unpack(node, join(dir, 'share/licenses'), strip(1), '--transform=s,LICENSE,node.txt,', 'package/LICENSE')
  await unpack(await fetchPinned(root, 'npm'), join(dir, 'lib/npm'), strip(1))
  // The documentation is half of the package, and the base template needs only the program.
  for (const name of ['docs', 'man']) await rm(join(dir, 'lib/npm', name), { recursive: true, force: true })
  return { node: pins[nodePackage]?.version ?? '', npm: pins.npm?.version ?? '' }
}

function licencesOf(parts: readonly Part[]): string {
  return parts
    .map(
      ({ name, version, license, texts }) =>
        `${'='.repeat(80)}\n${name} ${version} ${license ?? ''}\n\n${texts.join('\n')}`,
    )
    .join('\n')
}

async function writeJson(path: string, value: unknown): Promise<void> {
  await writeFile(path, `${JSON.stringify(value, null, 2)}\n`)
}
