import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { mustRun } from '../tools/run-tool.ts'

/** A runner that exists and is new enough. */
export interface Runner {
  readonly name: string
  readonly version: string
  /** The identity of the program's file. Another program at the same path has another one. */
  readonly file: string
}

/**
 * The oldest supported runsc, by date: it has the flags of the driver, and its checkpoints are
 * tested.
 */
const RUNSC_MIN = 20_260_701

/** The time for printing a version, in milliseconds. It takes milliseconds. */
const VERSION_TIMEOUT_MS = 10_000

/** Asks runsc for its version. Returns a reason if it has none or is too old. */
export async function probeRunsc(path: string): Promise<Runner | { reason: string; fix: string | null }> {
  const { version, file } = await versionOf(path)
  const date = parseRunscDate(version)
  if (date === null) return { reason: `${path} does not print its version`, fix: null }
  if (date < RUNSC_MIN) {
    const reason = `runsc ${version} is older than ${RUNSC_MIN}: remove HOLT_RUNSC to use Holt's own`
    return { reason, fix: null }
  }
  return { name: 'runsc', version, file }
}

/** Asks runc or crun for its version. Returns a reason if it has none. */
export async function probeRunc(path: string): Promise<Runner | { reason: string; fix: string | null }> {
  const { version, file } = await versionOf(path)
  if (version === '') return { reason: `${path} does not print its version`, fix: null }
  return { name: basename(path), version, file }
}

/**
 * Returns the date in a version such as `release-20260706.0` or `20260701.69c2d17aea96`, or null if
 * there is none.
 */
export function parseRunscDate(version: string): number | null {
  const date = /(?<!\d)(20\d{6})(?!\d)/.exec(version)?.[1]
  return date === undefined ? null : Number(date)
}

/**
 * The known versions of programs by path, each valid while the file is the same. Starting a program
 * takes a hundred times as long as reading its metadata.
 */
const known = new Map<string, { readonly file: string; readonly version: string }>()

/**
 * Returns the last word of the first line: `runc version 1.1.5`, `runsc version
 * 20260701.69c2d17aea96`. It is empty if the program does not run.
 */
async function versionOf(path: string): Promise<Pick<Runner, 'version' | 'file'>> {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(path)
    const file = [dev, ino, size, mtimeMs, ctimeMs].join(' ')
    const before = known.get(path)
    if (before?.file === file) return before
    const { stdout } = await mustRun([path, '--version'], { timeoutMs: VERSION_TIMEOUT_MS })
    const version = stdout.split('\n')[0]?.trim().split(' ').at(-1) ?? ''
    if (version !== '') known.set(path, { file, version })
    return { version, file }
  } catch {
    return { version: '', file: '' } // A program that does not run counts as missing, and the reason says so.
  }
}
