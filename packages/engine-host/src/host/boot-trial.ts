import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Engine, Isolation, RuntimeId } from '@holt/engine'
import { GuestClient } from '@holt/guest-client'
import { layoutOf } from '../installation/layout.ts'
import type { HostEngineOptions } from '../installation/options.ts'
import { removeRunDir } from '../installation/run-dir-owner.ts'

/**
 * The one runtime of a trial. Its id is fixed, so that the next trial finds the leftovers of a
 * killed process.
 */
export const trialId: RuntimeId = 'trial00000000000000000'

/**
 * The time for a removal, in milliseconds. Killing the runtime and detaching its disk takes a
 * fraction of a second.
 */
const removeTimeoutMs = 30_000

/** A place that only the trials of one class use, and the way to open an engine there. */
export interface TrialPlace {
  readonly options: HostEngineOptions
  readonly open: (options: HostEngineOptions) => Promise<Engine>
}

/** Returns the options of an engine for the trials of a class, beside the installation's own. */
export function trialOptions(options: HostEngineOptions, isolation: Isolation): HostEngineOptions {
  // Short, because the paths of sockets are limited (`unix(7)`).
  const short = isolation.slice(0, 1)
  const installationId = `${options.installationId.slice(0, 24)}-try-${short}`
  return {
    ...options,
    stateDir: layoutOf(options.stateDir, options.runDir).trial(isolation),
    runDir: join(options.runDir, `.t${short}`),
    installationId,
    cgroupParent: `${options.cgroupParent ?? `/holt-${options.installationId}`}-try-${short}`,
    spareDisks: 0,
  }
}

/**
 * Boots a runtime of a class, waits for its guest, and removes everything of it. Rejects with the
 * reason of a failure. A separate engine does it, by the same steps as for any runtime, so that the
 * runtime is never observed or counted.
 */
export async function bootTrial(place: TrialPlace, isolation: Isolation, signal: AbortSignal): Promise<void> {
  await withEngine(place, async (engine) => {
    const images = engine.ability('images')
    if (images === null) throw new Error('this engine keeps no images')
    const { digest: imageDigest } = await images.import(emptyTar(), signal)
    const size = { cpu: 1, memoryMiB: 128, diskMiB: 32, pidsMax: 64 }
    await engine.ensure({ id: trialId, isolation, imageDigest, checkpointId: null, ...size }, signal)
    const guest = new GuestClient(await engine.dial(trialId, signal))
    await guest.info(signal)
  })
}

/** Removes the leftovers of a trial in a killed process. */
export async function clearTrial(place: TrialPlace): Promise<void> {
  await withEngine({ ...place, options: { ...place.options, guestBinary: null } }, async () => {})
}

/** Runs `use` with an engine in an empty place, and removes everything of the trial afterwards. */
async function withEngine({ options, open }: TrialPlace, use: (engine: Engine) => Promise<void>): Promise<void> {
  await mkdir(options.stateDir, { recursive: true, mode: 0o700 })
  await mkdir(options.runDir, { recursive: true, mode: 0o700 })
  const engine = await open(options)
  const remove = () => engine.remove(trialId, AbortSignal.timeout(removeTimeoutMs))
  try {
    await remove()
    await use(engine)
  } finally {
    await remove().finally(() => engine.close())
    await removeRunDir(options)
    await rm(options.stateDir, { recursive: true, force: true })
  }
}

/**
 * Yields an image without files: two blocks of zeros end an archive (`tar(5)`). The guest is
 * mounted into it.
 */
async function* emptyTar(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(1024)
}
