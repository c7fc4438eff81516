import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

/** The maximum number of lines of the history. */
const maxLines = 1_000

/** Returns the file of typed code: below `$XDG_STATE_HOME`, or `~/.local/state`. */
export function historyPath(): string {
  return join(process.env.XDG_STATE_HOME || join(homedir(), '.local/state'), 'holt/code-history')
}

/** Returns the typed lines, newest first. A missing or unreadable history is empty. */
export function readHistory(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean).slice(0, maxLines)
  } catch {
    return [] // Lines can be typed without it.
  }
}

/** Keeps the typed lines, newest first. Only this user can read them. A failure loses them. */
export function keepHistory(path: string, lines: readonly string[]): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileSync(path, `${lines.slice(0, maxLines).join('\n')}\n`, { mode: 0o600 })
  } catch {
    // A home directory can be read-only. The code has run.
  }
}
