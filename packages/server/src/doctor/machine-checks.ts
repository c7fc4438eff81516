import { constants } from 'node:fs'
import { access, open, readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import type { ServerConfig } from '../config/config.ts'
import { readIfThere } from '../config/installation.ts'
import { builtGuest } from '../daemon/installed-files.ts'
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

/** What an ELF file says of its processor (elf(5), `e_machine`), by Node's names. */
const elfMachines: Readonly<Record<string, number>> = { x64: 62, arm64: 183 }

/** Whether the program that runs inside each runtime is built, and for this processor. */
export async function checkGuest({ guest }: Pick<ServerConfig, 'guest'>, arch: string): Promise<Check> {
  const path = guest ?? builtGuest
  const there = await access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
  const build = `cd ${dirname(path)} && CGO_ENABLED=0 go build -o holt-guest .`
  if (!there) return mustFix('guest', `${path} is not there`, build)
  const machine = await elfMachineOf(path)
  if (machine !== elfMachines[arch]) return mustFix('guest', `${path} is not for ${arch}`, build)
  return ok('guest', `${(await guestVersionOf(path)) ?? 'of a version that it does not tell'}, ${path}`)
}

/** The version that is written into the guest (`stamp` in guest/internal/api/version.go). The program is not asked: it would begin to be a runtime's first process. */
async function guestVersionOf(path: string): Promise<string | null> {
  const bytes = await readFile(path, 'latin1')
  return /holt-guest version ([\w.+-]{1,64})\n/.exec(bytes)?.[1] ?? null
}

/** Null for a file that is no ELF. */
async function elfMachineOf(path: string): Promise<number | null> {
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(20), 0, 20, 0)
  const isElf = bytesRead === 20 && buffer.readUInt32BE(0) === 0x7f45_4c46
  return isElf ? buffer.readUInt16LE(18) : null
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
