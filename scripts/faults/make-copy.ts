import { execFile } from 'node:child_process'
import { existsSync, lstatSync, readFileSync } from 'node:fs'
import { glob, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { endService } from '../../e2e/support/end-service.ts'
import { laneOf } from '../../e2e/support/lane.ts'
import { isRunning } from '../../e2e/support/service-process.ts'

const run = promisify(execFile)

/** Installed and built files that git ignores, and that the tests need. */
const built = [
  'node_modules',
  'packages/*/node_modules',
  'site/node_modules',
  'guest/holt-guest',
  'runsc/runsc',
  '.holt/tools',
  '.holt/test-programs',
]

/** The state of the first service under test, which has the base template. */
const serviceState = '.holt/e2e'

/** The file of a copy that names the process of its owner. */
const ownerFile = '.faults-owner'

/** The files of a state that name one installation. A copy of the state is another one. */
const ofOneInstallation = ['installation.json', 'running.json', 'holtd.log', 'holtd.pid']

/** A copy of the repository, which a test may change. */
export interface Copy extends AsyncDisposable {
  readonly dir: string
}

/**
 * Copies the repository as it is now to a new directory beside it, with all that is installed and
 * built. The tests of the copy use nothing of the checkout. Disposing of it ends its service, if
 * its tests were interrupted, and removes the directory. Copies of killed processes are removed
 * first.
 */
export async function makeCopy(root: string, { withService }: { readonly withService: boolean }): Promise<Copy> {
  for await (const abandoned of glob(`${root}.faults-*`)) if (!hasOwner(abandoned)) await removeCopy(abandoned)
  const dir = await mkdtemp(`${root}.faults-`)
  const remove = () => removeCopy(dir)
  try {
    await writeFile(join(dir, ownerFile), String(process.pid))
    await copySources(root, dir)
    for await (const path of glob(built, { cwd: root })) await copyPath(root, dir, path)
    if (withService && existsSync(join(root, serviceState))) {
      await copyPath(root, dir, serviceState)
      for (const name of ofOneInstallation) await rm(join(dir, serviceState, name), { force: true })
    }
  } catch (error) {
    await remove()
    throw error
  }
  return { dir, [Symbol.asyncDispose]: remove }
}

/** Removes a copy, after its service with the runtimes. */
async function removeCopy(dir: string): Promise<void> {
  await endService(laneOf(1, dir))
  await rm(dir, { recursive: true, force: true })
}

/** Returns true if the process that made the copy still runs. */
function hasOwner(dir: string): boolean {
  const file = join(dir, ownerFile)
  return existsSync(file) && isRunning(Number(readFileSync(file, 'utf8')))
}

/** Copies the files that git has or would take, also those that are not committed. */
async function copySources(root: string, dir: string): Promise<void> {
  const listing = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const { stdout } = await run('git', ['-C', root, ...listing], { maxBuffer: 64 * 2 ** 20 })
  const files = stdout.split('\0').filter((file) => file !== '' && isThere(join(root, file)))
  const list = join(dir, '.files')
  await writeFile(list, files.join('\0'))
  const pack = 'tar --create --directory="$1" --null --verbatim-files-from --files-from="$2"'
  await run('bash', ['-o', 'pipefail', '-c', `${pack} | tar --extract --directory="$3"`, 'copy', root, list, dir])
  await rm(list)
}

async function copyPath(root: string, dir: string, path: string): Promise<void> {
  await mkdir(join(dir, dirname(path)), { recursive: true })
  await run('cp', ['--archive', '--sparse=always', '--no-target-directory', join(root, path), join(dir, path)])
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

/** A change of one file. */
export interface Change {
  readonly file: string
  /** The text to replace. The file has it once. */
  readonly from: string
  readonly to: string
}

/** Returns the file with the change. Throws if the file does not have the text exactly once. */
export async function changed(dir: string, { file, from, to }: Change): Promise<string> {
  const parts = (await readFile(join(dir, file), 'utf8')).split(from)
  if (parts.length !== 2)
    throw new Error(`${file} has this text ${parts.length - 1} times, not once; update the fault:\n${from}`)
  return parts.join(to)
}
