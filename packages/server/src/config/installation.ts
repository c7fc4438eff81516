import { chmod, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { randomText } from '@holt/protocol'
import { z } from 'zod'
import { writeDurably } from './write-durably.ts'

const Installation = z.object({ id: z.string().regex(/^[a-z0-9]{8}$/) })

/** Makes the state directory where it is missing and answers the installation's id, which every kernel object of it carries. */
export async function openInstallation(stateDir: string): Promise<string> {
  await mkdir(stateDir, { recursive: true, mode: 0o700 })
  await chmod(stateDir, 0o700)
  const path = join(stateDir, 'installation.json')
  const existing = await readIfThere(path)
  if (existing !== null) return idIn(existing)
  const id = randomText(8)
  await writeDurably(path, `${JSON.stringify({ id })}\n`)
  return id
}

function idIn(text: string): string {
  try {
    return Installation.parse(JSON.parse(text)).id
  } catch {
    // With another id it would not know its own runtimes.
    throw new Error(
      'installation.json in the state directory is not readable; restore it from a backup, or write {"id":"ID"} where ID is the name of the directory below /run/holt',
    )
  }
}

/** A file's text; null where there is none. */
export async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** What a file of JSON has; null where there is none, or one that is no JSON. Any other failure throws. */
export async function readJsonIfThere(path: string): Promise<unknown> {
  const text = await readIfThere(path)
  try {
    return text === null ? null : JSON.parse(text)
  } catch {
    return null
  }
}
