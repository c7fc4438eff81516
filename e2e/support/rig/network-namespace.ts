import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { networkInterfaces } from 'node:os'
import { promisify } from 'node:util'

const run = promisify(execFile)
const limits = { timeout: 10_000 }

/** A network of the tests' own: a namespace, and a pair of devices between it and the host. */
export interface TestNetwork {
  readonly namespace: string
  /** The host's end. */
  readonly hostAddress: string
  /** Addresses inside. The operator lists the first one for the gateway, and not the second. */
  readonly listedAddress: string
  readonly unlistedAddress: string
}

/** Makes it. The addresses are private ones that this machine does not use. */
export async function makeTestNetwork(): Promise<TestNetwork> {
  const id = randomBytes(3).toString('hex')
  const subnet = freeSubnet()
  const network = {
    namespace: `holt-e2e-${id}`,
    hostAddress: `${subnet}.1`,
    listedAddress: `${subnet}.2`,
    unlistedAddress: `${subnet}.3`,
  }
  const [outer, inner] = [`he${id}o`, `he${id}i`]
  await ip('netns', 'add', network.namespace)
  try {
    await ip('link', 'add', outer, 'type', 'veth', 'peer', 'name', inner, 'netns', network.namespace)
    await ip('address', 'add', `${network.hostAddress}/24`, 'dev', outer)
    await ip('link', 'set', outer, 'up')
    const inside = ['-n', network.namespace]
    await ip(...inside, 'address', 'add', `${network.listedAddress}/24`, 'dev', inner)
    await ip(...inside, 'address', 'add', `${network.unlistedAddress}/24`, 'dev', inner)
    await ip(...inside, 'link', 'set', inner, 'up')
    await ip(...inside, 'link', 'set', 'lo', 'up')
    return network
  } catch (error) {
    await removeTestNetwork(network.namespace)
    throw error
  }
}

/**
 * Removes a network with its devices, and kills the programs inside: an interrupted run leaves the
 * rig there. Succeeds if there is none.
 */
export async function removeTestNetwork(namespace: string): Promise<void> {
  const { stdout: all } = await ip('netns', 'list')
  if (!all.split(/[\s]+/).includes(namespace)) return
  const { stdout: inside } = await ip('netns', 'pids', namespace)
  for (const pid of inside.split('\n').filter(Boolean)) kill(Number(pid))
  await ip('netns', 'delete', namespace)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}

/** Runs `ip`. */
export function ip(...args: readonly string[]) {
  return run('ip', args, limits)
}

/** Returns the first three numbers of a private network that this machine does not use. */
export function freeSubnet(): string {
  const used = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address))
  for (let tries = 0; tries < 200; tries++) {
    const subnet = `10.203.${randomBytes(1)[0]}`
    if (!used.some((address) => address.startsWith(`${subnet}.`))) return subnet
  }
  throw new Error('FIX: no free network below 10.203.0.0/16 for the tests')
}
