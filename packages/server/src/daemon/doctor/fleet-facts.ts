import { connect } from 'node:tls'
import type { ServerConfig } from '../../foundation/config/config.ts'
import { clockDifference } from '../../foundation/host/clock-difference.ts'
import { isJudged } from '../../foundation/host/host-row.ts'
import { masterKeysPath, readMasterKeys } from '../../foundation/sealing/master-key-file.ts'
import type { Session } from '../../foundation/store/postgres/session.ts'
import type { HostRow } from '../../foundation/store/tables.ts'
import { type Check, warn } from './check.ts'
import { checkFleet, type FleetFacts, type ReachedHost } from './fleet-checks.ts'

/** The time to reach another host, in milliseconds. */
const reachMs = 3_000

/**
 * The maximum number of hosts that are tried. In a large fleet, `holt fleet status` shows silent
 * ones.
 */
const mostTried = 32

/** Checks the fleet of a configuration. Empty on a machine that is in none. Only reads. */
export async function checkOwnFleet(config: ServerConfig): Promise<readonly Check[]> {
  if (config.fleet === null || config.databaseUrl === null) return []
  try {
    const { role } = config.fleet
    // A worker has no keys, and asks no other worker.
    const keysPath = role === 'worker' ? null : masterKeysPath(config)
    return checkFleet(await readFleetFacts(config.databaseUrl, keysPath))
  } catch (error) {
    // The check of the store says what is wrong with the database.
    return [warn('fleet', `it cannot be checked: ${error instanceof Error ? error.message : 'no reason is known'}`)]
  }
}

async function readFleetFacts(url: string, keysPath: string | null): Promise<FleetFacts> {
  const { Session } = await import('../../foundation/store/postgres/session.ts')
  const session = await Session.open(url, 'holtd doctor')
  try {
    const sentAt = performance.now()
    const [clock] = (await session.query('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now')).rows as [
      { now: number },
    ]
    const now = Date.now()
    const trip = { sentAt, answeredAt: performance.now(), now }
    const setting = async (name: string) =>
      ((await session.query(`SELECT current_setting('${name}') AS value`)).rows as [{ value: string }])[0].value
    const exists = (await session.query("SELECT to_regclass('hosts') AS name")).rows as [{ name: string | null }]
    const hosts =
      exists[0].name === null
        ? []
        : ((await session.query('SELECT * FROM hosts ORDER BY joined_at')).rows as readonly HostRow[])
    const asked = keysPath === null ? hosts.filter(({ trust }) => trust === 'entry') : hosts
    const tried = asked.filter((host) => !isJudged(host) && host.address !== '').slice(0, mostTried)
    return {
      clockDifferenceMs: clockDifference({ ...trip, databaseNow: Number(clock.now) }),
      maxConnections: Number(await setting('max_connections')),
      standbys: await setting('synchronous_standby_names'),
      commit: await setting('synchronous_commit'),
      hosts,
      keyIds: keysPath === null ? null : await ownKeyIds(keysPath),
      usedKeyIds: exists[0].name === null || keysPath === null ? [] : await usedKeyIds(session),
      reached: await Promise.all(tried.map(reach)),
      now,
    }
  } finally {
    await session.close()
  }
}

async function usedKeyIds(session: Session): Promise<readonly string[]> {
  const { rows } = await session.query('SELECT DISTINCT master_key_id FROM sealed_values')
  return (rows as readonly { master_key_id: string }[]).map(({ master_key_id }) => master_key_id)
}

async function ownKeyIds(path: string): Promise<readonly string[]> {
  try {
    return ((await readMasterKeys(path)) ?? []).map(({ id }) => id)
  } catch {
    return [] // The check of the master keys says what is wrong.
  }
}

/** Opens a connection to the listener of a host, and reads its certificate. */
async function reach({ host_id: hostId, address }: HostRow): Promise<ReachedHost> {
  const { splitAddress } = await import('../../fleet/peers/peer-directory.ts')
  const { peerNameOf } = await import('../../fleet/peers/host-certificate.ts')
  const place = splitAddress(address)
  const failed = (problem: string) => ({ hostId, address, validUntil: null, problem })
  if (place === null) return failed('its address is damaged')
  const { promise, resolve } = Promise.withResolvers<ReachedHost>()
  // Nothing is sent. The listener refuses this client, which has no certificate, a moment later.
  const socket = connect({ ...place, servername: peerNameOf(hostId), rejectUnauthorized: false, timeout: reachMs })
  socket.once('secureConnect', () => {
    const validUntil = Date.parse(socket.getPeerCertificate().valid_to)
    resolve(Number.isNaN(validUntil) ? failed('it has no certificate') : { hostId, address, validUntil, problem: null })
    socket.destroy()
  })
  socket.once('timeout', () => socket.destroy(new Error('it does not answer')))
  socket.on('error', (error) => resolve(failed(error.message)))
  socket.once('close', () => resolve(failed('it closed the connection')))
  return promise
}
