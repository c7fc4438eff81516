import { stat } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { EngineError } from '@holt/engine'
import { hasCode } from '../tools/durable-files.ts'

/** A killed process lives on as long as a child of it that was just being started: how long to wait for that. */
const PREDECESSOR_TIMEOUT_MS = 2_000

/** A state directory that no other engine may use. */
export interface StateClaim {
  release(): Promise<void>
}

/**
 * Takes a state directory for this process. The claim is a socket in the abstract namespace (`unix(7)`), named after the directory's inode: the kernel gives it to one process and takes
 * it back when that ends, however it ends. Kind `conflict` when another has it.
 */
export async function claimStateDir(stateDir: string): Promise<StateClaim> {
  const { dev, ino } = await stat(stateDir)
  const server = createServer((socket) => socket.destroy())
  const deadline = performance.now() + PREDECESSOR_TIMEOUT_MS
  while (!(await tryListen(server, `\0holt-engine-host-${dev}-${ino}`))) {
    if (performance.now() > deadline) throw new EngineError('conflict', `another engine works in ${stateDir}`)
    await sleep(50)
  }
  return { release: () => new Promise((resolve) => server.close(() => resolve())) }
}

/** False when another process has the name. */
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
