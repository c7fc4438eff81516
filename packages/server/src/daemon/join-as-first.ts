import { existsSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import type { ServerConfig } from '../foundation/config/config.ts'
import { releaseLock, takeLock } from '../foundation/config/daemon-lock.ts'
import { databasePath, storeExists, storePlace } from '../foundation/store/open-store.ts'
import { type Check, mustFix, ok } from './doctor/check.ts'
import { checkMasterKeys } from './doctor/state-checks.ts'
import { checkStore } from './doctor/store-checks.ts'
import { copyStore } from './export-import.ts'
import { wordsOf } from './import-words.ts'

/** The files of a SQLite database. */
const databaseFiles = ['', '-wal', '-shm']

/** Checks that this machine can become the first host of a fleet. Changes nothing. */
export async function checkJoin(config: ServerConfig): Promise<readonly Check[]> {
  const settings = checkSettings(config)
  if (settings.status === 'fix') return [settings]
  const alone = withoutFleet(config)
  const own = { ...(await checkStore(alone)), name: 'store' }
  const database = { ...(await checkStore(config)), name: 'PostgreSQL' }
  return [
    settings,
    checkPeerAddress(config),
    existsSync(databasePath(config.stateDir))
      ? own
      : mustFix('store', `${config.stateDir} has no store to move. Start the service with these settings`, null),
    database,
    ...(database.status === 'fix' ? [] : [await checkEmpty(config)]),
    await checkMasterKeys(alone),
  ]
}

/**
 * Copies the store of the state directory to the PostgreSQL of the fleet. The old store is moved
 * aside, so that no service starts over it. The service must not run. Returns a report
 * for people. Throws if the copy is refused; nothing has been changed then.
 */
export async function joinAsFirst(config: ServerConfig): Promise<string> {
  const { stateDir } = config
  await takeLock(stateDir)
  try {
    const copied = await copyStore(withoutFleet(config), config)
    const aside = await moveAside(stateDir)
    return `${wordsOf(copied, config)}the old store is now ${aside}\n`
  } finally {
    await releaseLock(stateDir)
  }
}

/** Returns the configuration of the machine before it joins. */
function withoutFleet(config: ServerConfig): ServerConfig {
  return { ...config, databaseUrl: null, fleet: null, peerAddress: null }
}

/** Renames the files of the store, and returns the new name of the first one. */
async function moveAside(stateDir: string): Promise<string> {
  const path = databasePath(stateDir)
  const aside = `${path}.before-fleet-${Date.now()}`
  // The database comes last: with it, its log has to be there.
  for (const end of databaseFiles.toReversed())
    if (existsSync(`${path}${end}`)) await rename(`${path}${end}`, `${aside}${end}`)
  return aside
}

function checkSettings({ fleet, databaseUrl }: ServerConfig): Check {
  if (fleet === null) return mustFix('settings', 'the machine is in no fleet', 'export HOLT_FLEET=1')
  return databaseUrl === null
    ? mustFix('settings', 'a fleet needs a PostgreSQL database', 'export HOLT_DATABASE_URL=postgres://…')
    : ok('settings', 'those of a host of a fleet')
}

function checkPeerAddress({ peerAddress }: ServerConfig): Check {
  const host = peerAddress?.host ?? ''
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return own.some(({ address }) => address === host)
    ? ok('peer address', `${host} is an address of this machine`)
    : mustFix('peer address', `${host} is no address of this machine: set HOLT_PEER_ADDRESS to one of its own`, null)
}

/** Checks that the database has no store: a second host joins without one. */
async function checkEmpty(config: ServerConfig): Promise<Check> {
  if (!(await storeExists(storePlace(config)))) return ok('database', 'it is empty')
  return mustFix(
    'database',
    'it has a store already. Name an empty database. A further host of a fleet has an empty state directory and needs no join',
    null,
  )
}
