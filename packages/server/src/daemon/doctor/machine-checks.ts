import { constants } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { canAccess } from '../../foundation/config/can-access.ts'
import type { ServerConfig } from '../../foundation/config/config.ts'
import { readIfThere } from '../../foundation/config/installation.ts'
import { type Check, mustFix, ok, warn } from './check.ts'

/** The oldest Node that can run the service's TypeScript directly. */
const oldestNode = [22, 18] as const

/** Checks that this Node can run the service. */
export function checkNode(current: string): Check {
  const [major = 0, minor = 0] = current.split('.').map(Number)
  const good = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])
  return good ? ok('node', current) : mustFix('node', `${current} is older than ${oldestNode.join('.')}`, 'npm ci')
}

/** Checks that the process has the rights that runtimes need. */
export function checkRoot(uid: number | undefined): Check {
  return uid === 0 ? ok('root', 'yes') : mustFix('root', 'runtimes, disks and cgroups need root', 'sudo -i')
}

/** Checks that the service can listen on the port. */
export async function checkPort({ host, port }: ServerConfig): Promise<Check> {
  const name = 'port'
  const code = await new Promise<string | null>((resolve) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'))
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(null)))
  })
  if (code === null) return ok(name, `${port} is free`)
  if (code === 'EADDRINUSE') return mustFix(name, `something else listens on ${port}`, `export HOLT_PORT=${port + 1}`)
  return mustFix(name, `${host} cannot be listened on: ${code}`, 'unset HOLT_HOST')
}

/**
 * Checks that the tool for the base template exists. An existing base template does not need it.
 */
export async function checkBaseTools({ baseImage, stateDir }: ServerConfig): Promise<Check> {
  const tool = baseImage === null ? 'mmdebstrap' : 'skopeo'
  if (await onPath(tool)) return ok(tool, 'found')
  const message = `${tool} makes the base template`
  const made = (await readIfThere(join(stateDir, 'credentials.json'))) !== null
  return made
    ? warn(tool, `${message}, if it must be made again`, `apt-get install ${tool}`)
    : mustFix(tool, message, `apt-get install ${tool}`)
}

async function onPath(tool: string): Promise<boolean> {
  for (const dir of (process.env.PATH ?? '').split(delimiter)) {
    if (await canAccess(join(dir, tool), constants.X_OK)) return true
  }
  return false
}
