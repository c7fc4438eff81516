import { lookup } from 'node:dns/promises'

/** The hosts from which the template of row B14 installs packages. */
const hosts = ['pypi.org', 'files.pythonhosted.org', 'registry.npmjs.org'] as const

/**
 * Returns the settings with which builds reach the package hosts of this machine. They may be
 * mirrors in a network that is not public, to which a daemon connects only if it is told to.
 */
export async function packageHostSettings(): Promise<Readonly<Record<string, string>>> {
  const found = await Promise.all(hosts.map((host) => lookup(host, { all: true, family: 4 }).catch(() => [])))
  const networks = [...new Set(found.flat().map(({ address }) => `${address}/32`))]
  return networks.length === 0 ? {} : { HOLT_EGRESS_ALLOWED_NETWORKS: networks.join(',') }
}
