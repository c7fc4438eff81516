import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Lane } from '../lane.ts'
import { nodeBinary } from '../service-process.ts'
import { until } from '../until.ts'
import { makeTestNetwork, removeTestNetwork } from './network-namespace.ts'
import { findDebianArchive, findNpmRegistry, findPackageIndex } from './package-index.ts'
import type { RigFacts, ToldFacts } from './records.ts'

const mainFile = join(import.meta.dirname, 'rig-main.ts')
const readyTimeoutMs = 60_000

/** The rig, running. */
export interface Rig extends AsyncDisposable {
  readonly facts: RigFacts
}

/** Removes the Internet that an interrupted run has left in a lane. Succeeds if there is none. */
export async function removeRig({ rigDir }: Lane): Promise<void> {
  const file = namespaceFile(rigDir)
  if (existsSync(file)) await removeTestNetwork(readFileSync(file, 'utf8'))
  await rm(rigDir, { recursive: true, force: true })
}

function namespaceFile(directory: string): string {
  return join(directory, 'namespace')
}

/** Starts the Internet of a lane in a network namespace of its own, in place of an earlier one. */
export async function startRig(lane: Lane): Promise<Rig> {
  const { rigDir: directory } = lane
  await removeRig(lane)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const network = await makeTestNetwork()
  await writeFile(namespaceFile(directory), network.namespace)
  const { listedAddress, unlistedAddress, hostAddress } = network
  const command = [nodeBinary(), mainFile, directory, listedAddress, unlistedAddress, hostAddress]
  const child = spawn('ip', ['netns', 'exec', network.namespace, ...command], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  let isStopping = false
  child.once('exit', (code, signal) => {
    if (!isStopping)
      console.error(`the rig has ended by itself with ${code ?? signal}: whatever asks it fails from now on`)
  })
  const stop = async () => {
    isStopping = true
    child.kill('SIGKILL')
    await ended(child)
    await removeTestNetwork(network.namespace)
    await rm(directory, { recursive: true, force: true })
  }
  try {
    const factsFile = join(directory, 'facts.json')
    await until(
      'the rig is ready',
      async () => {
        if (child.exitCode !== null) throw new Error('the rig has exited')
        return existsSync(factsFile)
      },
      readyTimeoutMs,
    )
    const told = JSON.parse(readFileSync(factsFile, 'utf8')) as ToldFacts
    const [packageIndex, npmRegistry, debianArchive] = await Promise.all([
      findPackageIndex(),
      findNpmRegistry(),
      findDebianArchive(),
    ])
    return { facts: { ...told, packageIndex, npmRegistry, debianArchive }, [Symbol.asyncDispose]: stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  await new Promise((resolve) => child.once('exit', resolve))
}
