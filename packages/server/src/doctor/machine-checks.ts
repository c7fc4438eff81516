import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import type { ServerConfig } from '../config/config.ts'
import { readIfThere } from '../config/installation.ts'
import { type Check, mustFix, ok, warn } from './check.ts'

/** The newest Node that can run the service's TypeScript as it is. */
const oldestNode = [22, 18] as const

/** Whether this Node can run the service. */
export function checkNode(current: string): Check {
  const [major = 0, minor = 0] = current.split('.').map(Number)
  const good = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])
  return good ? ok('node', current) : mustFix('node', `${current} is older than ${oldestNode.join('.')}`, 'npm ci')
}

/** Whether the process may do what runtimes need. */
export function checkRoot(uid: number | undefined): Check {
  return uid === 0 ? ok('root', 'yes') : mustFix('root', 'runtimes, disks and cgroups need root', 'sudo -i')
}

/** Whether the port can be listened on. */
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
 * Whether the tool that makes the base template is there; one that is made already does not need
 * it.
 */
export async function checkBaseTools({ baseImage, stateDir }: ServerConfig): Promise<Check> {
  const tool = baseImage === null ? 'mmdebstrap' : 'skopeo'
  if (await onPath(tool)) return ok(tool, 'found')
  const message = `${tool} makes the base template`
  const made = (await readIfThere(join(stateDir, 'credentials.json'))) !== null
  return made
    ? warn(tool, `${message}, if it has to be made again`, `apt-get install ${tool}`)
    : mustFix(tool, message, `apt-get install ${tool}`)
}

async function onPath(tool: string): Promise<boolean> {
  for (const dir of (process.env.PATH ?? '').split(delimiter)) {
    const found = await access(join(dir, tool), constants.X_OK).then(
      () => true,
      () => false,
    )
    if (found) return true
  }
  return false
}
