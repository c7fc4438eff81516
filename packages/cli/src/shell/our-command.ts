import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { shellWord } from './shell-word.ts'

/**
 * Returns the way to type this program: `holt` if it is on PATH, and otherwise the whole path of
 * the launcher.
 */
export function ourCommand(): string {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.some((folder) => isProgram(join(folder, 'holt'))) ? 'holt' : shellWord(launcherPath())
}

/** Returns the path of the launcher in this package. */
function launcherPath(): string {
  return fileURLToPath(new URL('../../bin/holt', import.meta.url))
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false // Not there, or not a program: the search on PATH continues with the next folder.
  }
}
