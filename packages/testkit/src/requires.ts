import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * Abilities of the machine that a test may need, with a check for each. A check returns null, or
 * the reason why the ability is missing.
 */
const ABILITIES = {
  'fsck.erofs': () => (answers('fsck.erofs', '--help') ? null : 'fsck.erofs is not installed'),
  python3: () => (answers('python3', '--version') ? null : 'python3 is not installed'),
  tar: () => (answers('tar', '--version') ? null : 'GNU tar is not installed'),
  xattr: () => (answers('getfattr', '--version') ? null : 'getfattr is not installed'),
  go: () => (answers('go', 'version') ? null : 'Go is not installed'),
  root: () => (process.getuid?.() === 0 ? null : 'needs root'),
  mount: () => {
    if (process.getuid?.() !== 0) return 'mounting needs root'
    return readFileSync('/proc/filesystems', 'utf8').includes('erofs') ? null : 'this kernel has no EROFS'
  },
  runsc: () => (answers(runscBinary(), '--version') ? null : `${runscBinary()} is not installed`),
} as const

export type Ability = keyof typeof ABILITIES

/** Returns the runsc to test with: `HOLT_RUNSC`, or the one on the path. */
export function runscBinary(): string {
  return process.env.HOLT_RUNSC ?? 'runsc'
}

/** Returns whether to skip, and a note for the title with the reason. */
export function requires(...abilities: Ability[]): { readonly skip: boolean; readonly note: string } {
  const missing = abilities.map((ability) => ABILITIES[ability]()).filter((reason) => reason !== null)
  return { skip: missing.length > 0, note: missing.length > 0 ? ` [skipped: ${missing.join(', ')}]` : '' }
}

function answers(command: string, argument: string): boolean {
  try {
    execFileSync(command, [argument], { stdio: 'ignore', timeout: 10_000 })
    return true
  } catch {
    // Not installed, or not able to run: the ability is missing either way, and the title says so.
    return false
  }
}
