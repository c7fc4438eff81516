import type { ImageDigest } from '@holt/engine'
import { GuestClient, type GuestNetwork } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import type { BuildRequest, FinalSettings, StartHost } from '../contract/build-contract.ts'
import { BuildError } from '../errors.ts'
import { notStarted, startApplication } from './start-application.ts'

/** The time for a boot, in milliseconds. A cold boot takes a second on a slow host. */
const bootTimeoutMs = 120_000

/** The maximum number of processes and threads of a runtime. */
const pidsMax = 1024

/** A finished image that becomes a template. */
export interface Finishing {
  readonly image: { readonly digest: ImageDigest }
  readonly settings: Pick<FinalSettings, 'env' | 'user' | 'workdir'>
  readonly request: Pick<BuildRequest, 'startCmd' | 'readyCmd' | 'readyTimeoutMs' | 'cpu' | 'memoryMiB' | 'diskMiB'>
  /** The step of the log that gets the output of the start command. */
  readonly step?: number
}

/** A runtime that no client owns. */
export interface Seed {
  readonly finishing: Finishing
  readonly host: StartHost
  readonly id: string
  readonly signal: AbortSignal
}

/**
 * Boots a runtime of the image at the template's size, or restores one, and waits for its guest.
 */
export async function bootSeed(
  { finishing, host, id, signal }: Seed,
  checkpointId: string | null,
): Promise<GuestClient> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(bootTimeoutMs)])
  const { cpu, memoryMiB, diskMiB } = finishing.request
  const { isolation } = host
  const { digest: imageDigest } = finishing.image
  await host.engine.ensure({ id, isolation, imageDigest, cpu, memoryMiB, diskMiB, pidsMax, checkpointId }, bounded)
  const guest = new GuestClient(await host.engine.dial(id, bounded))
  await guest.info(bounded)
  return guest
}

/**
 * Starts the application in a runtime and waits until it is ready. The network is available only
 * until then.
 */
export async function startSeed(
  guest: GuestClient,
  { finishing, host, id, signal }: Seed,
  { startCmd, network }: { readonly startCmd: string; readonly network: GuestNetwork | null },
): Promise<void> {
  const { settings, request, step = null } = finishing
  const { env, user, workdir } = settings
  const ownsKernel = host.isolation === 'gvisor'
  try {
    await guest.seed({ env, user, workdir, pids_max: ownsKernel ? pidsMax : null, network }, signal)
    const { readyCmd, readyTimeoutMs } = request
    const onLine = (message: string) => host.report.log({ level: 'info', step, message })
    await startApplication(guest, { startCmd, readyCmd, readyTimeoutMs }, { signal, onLine })
    if (network !== null) await guest.setNetwork(null, signal)
  } catch (error) {
    signal.throwIfAborted()
    const ended = await endOf(host, id, request.memoryMiB)
    throw ended ?? (error instanceof HoltError && error.status < 500 ? notStarted(error) : error)
  }
}

/**
 * Returns the error for an application that ended its whole runtime, or null if the runtime still
 * runs.
 */
async function endOf({ engine }: StartHost, id: string, memoryMiB: number): Promise<BuildError | null> {
  const ending = (await engine.inspect(id))?.ending ?? null
  if (ending === null) return null
  return ending.reason === 'out_of_memory'
    ? new BuildError('start_cmd_failed', `start_cmd needed more than the ${memoryMiB} MiB of memory of its runtime.`, {
        hint: 'Raise memory.',
      })
    : new BuildError('start_cmd_failed', 'The runtime ended while start_cmd ran.')
}
