import { constants } from 'node:fs'
import { access, stat, statfs } from 'node:fs/promises'
import { createServer } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import type { ServerConfig } from '../config/config.ts'
import { readIfThere } from '../config/installation.ts'
import { builtGuest } from '../daemon/installed-files.ts'
import { type Check, mustFix, ok, warn } from './check.ts'

/** The base image, one disk and room to work; below the lower bound creates are refused. */
const diskMiB = { wanted: 6 * 1024, needed: 2 * 1024 }

/** The newest Node that can run the service's TypeScript as it is. */
const oldestNode = [22, 18] as const

/** No machine that runs this was set up before it was written. */
const earliestTime = Date.parse('2026-01-01T00:00:00Z')

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

/** Whether the clock tells a time that can be. */
export function checkClock(now: number): Check {
  const text = new Date(now).toISOString()
  return now > earliestTime ? ok('clock', text) : mustFix('clock', `${text} is in the past`, 'timedatectl set-ntp true')
}

/** Whether the state directory is private, and its disk has room. */
export async function checkStateDir({ stateDir }: ServerConfig): Promise<readonly Check[]> {
  const info = await stat(stateDir).catch(() => null) // Not there yet: the first start makes it.
  const place = info === null ? await existingParent(stateDir) : stateDir
  const { bavail, bsize } = await statfs(place)
  const freeMiB = Math.floor((bavail * bsize) / 2 ** 20)
  const free = `${freeMiB} MiB are free on the disk of ${stateDir}`
  return [
    info === null || (info.mode & 0o077) === 0
      ? ok('state directory', stateDir)
      : mustFix('state directory', 'others can enter it', `chmod 700 ${stateDir}`),
    freeMiB >= diskMiB.wanted
      ? ok('disk', free)
      : freeMiB >= diskMiB.needed
        ? warn('disk', `${free}; ${diskMiB.wanted} MiB are better`)
        : mustFix('disk', `${free}; ${diskMiB.needed} MiB are needed`, 'export HOLT_STATE_DIR=/a/larger/disk'),
  ]
}

async function existingParent(path: string): Promise<string> {
  for (let at = dirname(path); ; at = dirname(at)) {
    if (at === '/' || (await stat(at).catch(() => null)) !== null) return at
  }
}

/** Whether the port can be listened on. */
export async function checkPort({ host, port }: ServerConfig): Promise<Check> {
  const name = `port ${port}`
  const code = await new Promise<string | null>((resolve) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'))
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(null)))
  })
  if (code === null) return ok(name, 'free')
  if (code === 'EADDRINUSE') return mustFix(name, 'something else listens there', `export HOLT_PORT=${port + 1}`)
  return mustFix(name, `${host} cannot be listened on: ${code}`, 'unset HOLT_HOST')
}

/** Whether the program that runs inside each runtime is built. */
export async function checkGuest({ guest }: ServerConfig): Promise<Check> {
  const path = guest ?? builtGuest
  const there = await access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
  return there
    ? ok('guest', path)
    : mustFix('guest', `${path} is not there`, `cd ${dirname(path)} && CGO_ENABLED=0 go build -o holt-guest .`)
}

/** Whether the tool that makes the base template is there; one that is made already does not need it. */
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
