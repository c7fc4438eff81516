import { chmod, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { idSchema, makeId, randomText } from '@holt/protocol'
import { z } from 'zod'
import { writeDurably } from './write-durably.ts'

const Installation = z.object({
  id: z.string().regex(/^[a-z0-9]{8}$/),
  /** The id of the host for clients. Absent until a service of a version that has it starts. */
  host_id: idSchema('host').optional(),
})

/**
 * Makes the state directory if it is missing. Returns the installation's id, which all its kernel
 * objects carry.
 */
export async function openInstallation(stateDir: string): Promise<string> {
  await mkdir(stateDir, { recursive: true, mode: 0o700 })
  await chmod(stateDir, 0o700)
  const existing = await findInstallation(stateDir)
  if (existing !== null) return existing
  const id = randomText(8)
  await writeDurably(pathOf(stateDir), `${JSON.stringify({ id })}\n`)
  return id
}

/**
 * Returns the id of the installation that has this state directory; null if none was opened there.
 */
export async function findInstallation(stateDir: string): Promise<string | null> {
  const text = await readIfThere(pathOf(stateDir))
  return text === null ? null : parsed(text).id
}

/** Returns the id of the host that has this state directory; null if it has none yet. */
export async function findHostId(stateDir: string): Promise<string | null> {
  const text = await readIfThere(pathOf(stateDir))
  return text === null ? null : (parsed(text).host_id ?? null)
}

/**
 * Returns the id of the host of an opened installation. Makes and stores it at the first call. Only
 * the service may call this, because it alone writes the state directory.
 */
export async function openHostId(stateDir: string): Promise<string> {
  const { id, host_id } = parsed((await readIfThere(pathOf(stateDir))) ?? '')
  if (host_id !== undefined) return host_id
  const made = makeId('host')
  await writeDurably(pathOf(stateDir), `${JSON.stringify({ id, host_id: made })}\n`)
  return made
}

function pathOf(stateDir: string): string {
  return join(stateDir, 'installation.json')
}

function parsed(text: string): z.output<typeof Installation> {
  try {
    return Installation.parse(JSON.parse(text))
  } catch {
    // With another id the service would not recognise its own runtimes.
    throw new Error(
      'installation.json in the state directory is not readable: restore it from a backup, or write {"id":"ID"} where ID is the name of the directory below /run/holt',
    )
  }
}

/** Returns a file's text; null if the file does not exist. */
export async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/**
 * Returns the value of a JSON file; null if the file does not exist or is not JSON. Throws for any
 * other failure.
 */
export async function readJsonIfThere(path: string): Promise<unknown> {
  const text = await readIfThere(path)
  try {
    return text === null ? null : JSON.parse(text)
  } catch {
    return null
  }
}
