import { existsSync } from 'node:fs'
import { chown, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { holt } from '../cli.ts'
import type { Settings } from '../service-process.ts'
import type { FleetHost } from './fleet-host.ts'
import type { BeginHosts } from './start-fleet.ts'

/** The user of a front, which needs no privileges. */
const nobody = 65_534

/** The settings of a worker. Its token is for its first start alone. */
export const workerSettings: Settings = { HOLT_ROLE: 'worker', HOLT_DATABASE_URL: '' }

/**
 * Starts the first host as a front without privileges, and the others as workers, which join it
 * with one token.
 */
export const beginWorkers: BeginHosts = async ({ hosts, dir }) => {
  const [front, ...workers] = hosts as [FleetHost, ...FleetHost[]]
  for (const name of ['images', 'checkpoints']) await rm(join(front.stateDir, name), { recursive: true, force: true })
  await front.dropPrivileges(nobody)
  if (existsSync(join(dir, 'objects'))) await chown(join(dir, 'objects'), nobody, nobody)
  await front.start({ HOLT_ROLE: 'front' })
  const tokenFile = join(dir, 'join-token')
  await writeFile(tokenFile, await tokenOf(front), { mode: 0o600 })
  for (const worker of workers) {
    await rm(join(worker.stateDir, 'master-keys.json'))
    await worker.start({ ...workerSettings, HOLT_JOIN_TOKEN_FILE: tokenFile })
  }
}

/** Makes a token as an operator does. */
async function tokenOf({ url, key }: FleetHost): Promise<string> {
  const made = await holt(['fleet', 'token'], { env: { HOLT_URL: url, HOLT_API_KEY: key } })
  if (made.code !== 0) throw new Error(`holt fleet token failed: ${made.stderr}`)
  return String(made.stdout)
}
