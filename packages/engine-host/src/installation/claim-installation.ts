import { stat } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EngineError } from '@holt/engine'
import { hasCode } from '../files/durable-files.ts'
import { type FileLock, tryLockFile } from './file-lock.ts'
import type { HostEngineOptions } from './options.ts'

/**
 * The time to wait for a killed process, in milliseconds. It lives as long as a child that it was
 * just starting.
 */
const PREDECESSOR_TIMEOUT_MS = 2_000

/** The parts of an installation that only one engine may have at a time. */
type Claimed = Pick<HostEngineOptions, 'stateDir' | 'runDir' | 'installationId'>

/** An installation that no other engine may use. */
export interface Claim {
  release(): Promise<void>
}

/**
 * Claims an installation for this process: its state directory, its run directory and its id, after
 * which its cgroups are named. Each claim is a socket in the abstract namespace (`unix(7)`). That
 * of a directory is named after its inode. The kernel gives the socket to one process and frees it
 * when that process ends in any way. A network namespace has its own abstract sockets, so the state
 * directory also has a locked file. Rejects with kind `conflict` if another process has one of
 * them.
 */
export async function claimInstallation({ stateDir, runDir, installationId }: Claimed): Promise<Claim> {
  const wanted = [
    { name: `engine-host-${await directoryId(stateDir)}`, what: stateDir },
    { name: `run-dir-${await directoryId(runDir)}`, what: runDir },
    { name: `installation-${installationId}`, what: `the installation ${installationId}, perhaps over a copy of this` },
  ]
  const deadline = performance.now() + PREDECESSOR_TIMEOUT_MS
  const taken: Server[] = []
  let lock: FileLock | null = null
  const release = async () => {
    lock?.release()
    lock = null
    for (const server of taken.splice(0)) await new Promise((resolve) => server.close(resolve))
  }
  const conflict = (what: string) => new EngineError('conflict', `another engine works in ${what}`)
  try {
    for (const { name, what } of wanted) {
      const server = createServer((socket) => socket.destroy())
      while (!(await tryListen(server, `\0holt-${name}`))) {
        if (performance.now() > deadline) throw conflict(what)
        await sleep(50)
      }
      taken.push(server)
    }
    for (;;) {
      lock = tryLockFile(join(stateDir, 'claim.lock'))
      if (lock !== null) break
      if (performance.now() > deadline) throw conflict(stateDir)
      await sleep(50)
    }
  } catch (error) {
    await release()
    throw error
  }
  return { release }
}

/** Returns an id of a directory that is the same for every path to it. */
export async function directoryId(dir: string): Promise<string> {
  const { dev, ino } = await stat(dir)
  return `${dev}-${ino}`
}

/** Returns false if another process has the name. */
function tryListen(server: Server, path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const settle = (then: () => void) => {
      server.off('error', refuse).off('listening', accept)
      then()
    }
    const accept = () => settle(() => resolve(true))
    const refuse = (error: Error) => settle(() => (hasCode(error, 'EADDRINUSE') ? resolve(false) : reject(error)))
    server.once('error', refuse).once('listening', accept)
    server.listen({ path, exclusive: true })
  })
}
