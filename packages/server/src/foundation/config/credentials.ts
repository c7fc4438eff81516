import { join } from 'node:path'
import { z } from 'zod'
import { readIfThere } from './installation.ts'
import { writeDurably } from './write-durably.ts'

const Credentials = z.object({ url: z.string(), key: z.string() })

/** The credentials that CLI and SDK read on this machine: the address of the service and a key. */
export type Credentials = z.infer<typeof Credentials>

/** Returns the credentials of an earlier start; null if there are none that can be read. */
export async function readCredentials(stateDir: string): Promise<Credentials | null> {
  const text = await readIfThere(credentialsPath(stateDir))
  if (text === null) return null
  try {
    return Credentials.parse(JSON.parse(text))
  } catch {
    return null // A file without valid credentials is written anew.
  }
}

/** Writes the credentials unless the file has them already. */
export async function writeCredentials(stateDir: string, credentials: Credentials): Promise<void> {
  const current = await readCredentials(stateDir)
  if (current?.url === credentials.url && current.key === credentials.key) return
  await writeDurably(credentialsPath(stateDir), `${JSON.stringify(credentials)}\n`)
}

function credentialsPath(stateDir: string): string {
  return join(stateDir, 'credentials.json')
}
