import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { connect } from 'node:net'

const hosts = ['pypi.org', 'files.pythonhosted.org'] as const
const connectTimeoutMs = 3_000

/** Where the package index is that this machine's own pip uses, by name; empty where it cannot be reached. */
export async function findPackageIndex(): Promise<Readonly<Record<string, readonly string[]>>> {
  try {
    const found = await Promise.all(
      hosts.map(async (host) => {
        const addresses = await lookup(host, { all: true, family: 4 })
        await tryConnect(host)
        return [host, addresses.map(({ address }) => address)] as const
      }),
    )
    return Object.fromEntries(found)
  } catch {
    return {} // A machine without an index tests with the rig's own, which are there in any case.
  }
}

async function tryConnect(host: string): Promise<void> {
  const socket = connect({ host, port: 443, timeout: connectTimeoutMs })
  socket.once('timeout', () => socket.destroy(new Error('no answer')))
  try {
    await once(socket, 'connect')
  } finally {
    socket.destroy()
  }
}
