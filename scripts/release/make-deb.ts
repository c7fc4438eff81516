import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type Arch, debArchs, type ReleaseFacts } from './facts.ts'
import { filesBelow } from './hash-files.ts'
import { manualPage } from './manual-page.ts'
import { run } from './run.ts'

/** The place of the release directory in the package. */
const home = 'usr/lib/holt'

/**
 * Packs a release directory into a Debian package, with the commands in /usr/bin and the units of
 * systemd. Returns its name. dpkg-deb writes the same bytes for the same files and
 * SOURCE_DATE_EPOCH (deb(5), reproducible-builds.org).
 */
export async function makeDeb(tree: string, facts: ReleaseFacts, arch: Arch, outDir: string): Promise<string> {
  const { version, epochSecs, root } = facts
  const name = `holt_${version}_${debArchs[arch]}.deb`
  const stage = await mkdtemp(join(tmpdir(), 'holt-deb-'))
  try {
    await cp(tree, join(stage, home), { recursive: true })
    await rm(join(stage, home, 'install.sh'))
    await rm(join(stage, home, 'SHA256SUMS'))
    await linkCommands(stage)
    await placeUnits(stage)
    await placeDocs(stage, root)
    await placeManual(stage, facts)
    await writeControl(stage, { facts, arch, from: join(root, 'deploy/debian') })
    await run(['chmod', '-R', 'u=rwX,go=rX', stage])
    const env = { SOURCE_DATE_EPOCH: String(epochSecs) }
    await run(['dpkg-deb', '--root-owner-group', '-Zgzip', '-z6', '--build', stage, join(outDir, name)], { env })
  } finally {
    await rm(stage, { recursive: true })
  }
  return name
}

async function linkCommands(stage: string): Promise<void> {
  await mkdir(join(stage, 'usr/bin'))
  for (const name of ['holt', 'holtd']) await symlink(`../lib/holt/bin/${name}`, join(stage, 'usr/bin', name))
}

/**
 * Links the pages and examples into the documentation directory of the package, and adds the
 * license there.
 */
async function placeDocs(stage: string, root: string): Promise<void> {
  const target = join(stage, 'usr/share/doc/holt')
  await mkdir(target, { recursive: true })
  for (const name of await readdir(join(stage, home, 'share/doc')))
    await symlink(`../../../lib/holt/share/doc/${name}`, join(target, name))
  await cp(join(root, 'LICENSE'), join(target, 'copyright'))
}

/** Writes the manual page, which both commands have. */
async function placeManual(stage: string, facts: ReleaseFacts): Promise<void> {
  const target = join(stage, 'usr/share/man/man1')
  await mkdir(target, { recursive: true })
  // Node writes no time into it, so the same page gives the same bytes.
  await writeFile(join(target, 'holt.1.gz'), gzipSync(manualPage(facts), { level: 9 }))
  await symlink('holt.1.gz', join(target, 'holtd.1.gz'))
}

async function placeUnits(stage: string): Promise<void> {
  const target = join(stage, 'usr/lib/systemd/system')
  await mkdir(target, { recursive: true })
  const units = join(stage, home, 'share/systemd')
  for (const name of await readdir(units)) {
    const unit = await readFile(join(units, name), 'utf8')
    await writeFile(join(target, name), unit.replaceAll('@HOLT@', `/${home}`))
  }
  await rm(units, { recursive: true })
}

/** Writes the control files: those of deploy/debian, with the version and the sums of the files. */
async function writeControl(
  stage: string,
  { facts, arch, from }: { facts: ReleaseFacts; arch: Arch; from: string },
): Promise<void> {
  const files = (await filesBelow(stage)).toSorted()
  const sizeKiB = Number((await run(['du', '--summarize', '--apparent-size', '--block-size=1K', stage])).split('\t')[0])
  const sums = await run(['md5sum', ...files] as [string, ...string[]], { cwd: stage })
  const control = join(stage, 'DEBIAN')
  await mkdir(control)
  for (const name of ['prerm', 'postrm', 'postinst']) {
    await cp(join(from, name), join(control, name))
    await chmod(join(control, name), 0o755)
  }
  const text = await readFile(join(from, 'control'), 'utf8')
  const fields = { '@VERSION@': facts.version, '@ARCH@': debArchs[arch], '@SIZE@': String(sizeKiB) }
  await writeFile(
    join(control, 'control'),
    Object.entries(fields).reduce((filled, [field, value]) => filled.replace(field, value), text),
  )
  await writeFile(join(control, 'md5sums'), sums)
}
