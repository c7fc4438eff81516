import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { connect } from 'node:net'
import { hostMirrors } from '../../../packages/builder/src/base/mirror.ts'

const pythonHosts = ['pypi.org', 'files.pythonhosted.org'] as const

/** The registry that npm asks unless it is told otherwise. */
export const npmHost = 'registry.npmjs.org'
const connectTimeoutMs = 3_000

/**
 * The addresses of the package index of this machine's own pip, by name. Empty if it cannot be
 * reached.
 */
export async function findPackageIndex(): Promise<Readonly<Record<string, readonly string[]>>> {
  try {
    return Object.fromEntries(await Promise.all(pythonHosts.map(async (host) => [host, await findHost(host)] as const)))
  } catch {
    return {} // A machine without an index tests with the rig's own, which are there in any case.
  }
}

/**
 * The addresses of the registry of this machine's own npm. Empty if it cannot be reached, which the
 * tests that need it report.
 */
export async function findNpmRegistry(): Promise<readonly string[]> {
  return findHost(npmHost).catch(() => [])
}

/** The archive of a machine that is not Debian, or whose sources name none. */
const usualArchive = 'http://deb.debian.org/debian'

/**
 * The addresses of the Debian archive of this machine's own apt, by name. Empty if it cannot be
 * reached.
 */
export async function findDebianArchive(): Promise<Readonly<Record<string, readonly string[]>>> {
  const { main } = await hostMirrors(process.env)
  const { protocol, hostname } = new URL(main ?? usualArchive)
  if (protocol !== 'http:' && protocol !== 'https:') return {}
  const addresses = await findHost(hostname, protocol === 'http:' ? 80 : 443).catch(() => [])
  return addresses.length === 0 ? {} : { [hostname]: addresses }
}

async function findHost(host: string, port = 443): Promise<readonly string[]> {
  const addresses = await lookup(host, { all: true, family: 4 })
  await tryConnect(host, port)
  return addresses.map(({ address }) => address)
}

async function tryConnect(host: string, port: number): Promise<void> {
  const socket = connect({ host, port, timeout: connectTimeoutMs })
  socket.once('timeout', () => socket.destroy(new Error('no answer')))
  try {
    await once(socket, 'connect')
  } finally {
    socket.destroy()
  }
}
