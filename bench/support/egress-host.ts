import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { issue, makeTestCa } from '@holt/egress/testing'

/** A web host on loopback that runtimes of the bench can reach by name. */
export interface EgressHost extends Disposable {
  readonly port: number
  /** The certificate authority of its certificate. */
  readonly caPem: string
  /** The settings that the daemon needs for it. */
  readonly environment: Readonly<Record<string, string>>
}

/** Two names of the same host, one for each way through the gateway. */
export const hostNames = { splice: 'splice.example.com', terminate: 'terminate.example.com' } as const

const mainFile = join(import.meta.dirname, 'egress-host-main.ts')

/**
 * Starts the host in its own process, so that the clients do not delay it. `stateDir` is the
 * directory of its certificates.
 */
export async function startEgressHost(stateDir: string): Promise<EgressHost> {
  const ca = await makeTestCa()
  const certificate = await issue(ca, ...Object.values(hostNames))
  const caFile = join(stateDir, 'egress-host-ca.pem')
  await writeFile(caFile, ca.certificatePem)
  const child = spawn(process.execPath, [mainFile], { cwd: '/', stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  try {
    child.send(certificate)
    const [port] = (await Promise.race([once(child, 'message'), failure(child)])) as [number]
    const overrides = Object.values(hostNames).map((name) => `${name}:443=127.0.0.1:${port}`)
    return {
      port,
      caPem: ca.certificatePem,
      environment: { HOLT_EGRESS_OVERRIDES: overrides.join(','), HOLT_EGRESS_CA_FILE: caFile },
      [Symbol.dispose]: () => child.kill('SIGKILL'),
    }
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
}

async function failure(child: ChildProcess): Promise<never> {
  const [code] = await once(child, 'exit')
  throw new Error(`the host of the egress row has ended with ${code}`)
}
