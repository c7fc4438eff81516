import { constants } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { canAccess } from '../../foundation/config/can-access.ts'
import type { ServerConfig } from '../../foundation/config/config.ts'
import { version } from '../../foundation/config/version.ts'
import { builtGuest } from '../machine/installed-files.ts'
import { type Check, mustFix, ok } from './check.ts'

/** Values of `e_machine` in an ELF file (elf(5)), by Node's names of processors. */
const elfMachines: Readonly<Record<string, number>> = { x64: 62, arm64: 183 }

/** The files that determine the guest, as in scripts/lib/go.sh. */
const sourceFile = /(?:\.go|^go\.mod|^go\.sum)$/

const buildCommand = `cd ${join(dirname(builtGuest), '..')} && npm run build`

/**
 * Checks the program that runs inside each runtime and starts containers. It must exist, be built
 * for this processor, and have the version of this service. It must not be older than sources
 * beside it, because it may lack something that the service needs. The program is not executed.
 */
export async function checkGuest({ guest }: Pick<ServerConfig, 'guest'>, arch: string): Promise<Check> {
  const path = guest ?? builtGuest
  const hasSources = await canAccess(join(dirname(path), 'go.mod'))
  const fix = guest !== null ? 'unset HOLT_GUEST' : hasSources ? buildCommand : null
  const wrong = (what: string) => {
    return mustFix('guest', `${path} ${what}${fix === null ? `: install holt ${version} again` : ''}`, fix)
  }
  if (!(await canAccess(path, constants.X_OK))) return wrong('is not there')
  const bytes = await readFile(path)
  if (elfMachineOf(bytes) !== elfMachines[arch]) return wrong(`is not for ${arch}`)
  if (hasSources && (await isOlderThanSources(path))) return wrong('is older than its sources')
  const own = versionIn(bytes)
  if (own !== version) return wrong(`has ${own === null ? 'no version' : `version ${own}`}; this is holt ${version}`)
  return ok('guest', `${own}, ${path}`)
}

/** Throws, with the command that corrects it, if the service cannot work with its guest. */
export async function requireGuest(config: Pick<ServerConfig, 'guest'>): Promise<void> {
  const { status, message, fix } = await checkGuest(config, process.arch)
  if (status === 'ok') return
  throw new Error(`The guest ${message}.${fix === null ? '' : ` To correct it: ${fix}`}`)
}

/** Returns the `e_machine` value of a file, or null if it is no ELF file. */
function elfMachineOf(bytes: Buffer): number | null {
  const isElf = bytes.length >= 20 && bytes.readUInt32BE(0) === 0x7f45_4c46
  return isElf ? bytes.readUInt16LE(18) : null
}

/**
 * Returns the version in the guest's file (`stamp` in guest/internal/api/version.go), or null if
 * there is none.
 */
function versionIn(bytes: Buffer): string | null {
  const start = bytes.indexOf(`holt-guest version ${version}\n`)
  if (start !== -1) return version
  return /holt-guest version ([\w.+-]{1,64})\n/.exec(bytes.toString('latin1'))?.[1] ?? null
}

/**
 * Returns true if a source is newer than the program. A checkout and a build both set the time of
 * modification.
 */
async function isOlderThanSources(path: string): Promise<boolean> {
  const { mtimeMs: builtMs } = await stat(path)
  const files = await readdir(dirname(path), { recursive: true, withFileTypes: true })
  const sources = files.filter((file) => file.isFile() && sourceFile.test(file.name))
  const times = await Promise.all(sources.map(({ parentPath, name }) => stat(join(parentPath, name))))
  return times.some(({ mtimeMs }) => mtimeMs > builtMs)
}
