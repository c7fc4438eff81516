import { mkdir, writeFile } from 'node:fs/promises'
import { arch } from 'node:os'
import { EngineError, type Fallback, type RuntimeSpec } from '@holt/engine'
import { failpoint } from '@holt/failpoints'
import type { BundleInput } from '../bundles/bundle-input.ts'
import { containerConfig } from '../bundles/container-config.ts'
import { gvisorConfig } from '../bundles/gvisor-config.ts'
import { kernelMasks } from '../bundles/kernel-masks.ts'
import type { Source } from '../checkpoints/host-checkpoints.ts'
import { diskDirs, mountDisk } from '../disks/mount-disk.ts'
import { checkRoom } from '../disks/room.ts'
import { hasCode } from '../files/durable-files.ts'
import { cgroupOf, driverOf, guestOf, type Host } from '../host/host.ts'
import { prepareUpper } from '../images/prepare-upper.ts'
import { checkSpec, sameSpec } from '../runtimes/check-spec.ts'
import { ROOT } from '../runtimes/id-ranges.ts'
import type { Runtime } from '../runtimes/runtime-registry.ts'
import { allDone } from '../tools/all-done.ts'
import type { ProcessId } from '../tools/process-table.ts'
import { clearRuntime, endProcesses, forgetRuntime } from './remove-runtime.ts'

/**
 * Ensures that a runtime exists and runs. The order is: record the spec; prepare the disk, the
 * socket and the image at once; then the root, the bundle and the runner. A failure removes all of
 * it again.
 */
export async function ensureRuntime(host: Host, spec: RuntimeSpec, signal: AbortSignal): Promise<void> {
  checkSpec(spec)
  await host.locks.run(spec.id, async () => {
    signal.throwIfAborted()
    const runtime = await admitOnce(host, spec).catch(async (error) => {
      // The record itself needs space, too.
      const begun = host.runtimes.get(spec.id)
      if (begun?.record.state === 'preparing') await giveUp(host, begun)
      throw startFailure(error, signal)
    })
    if (runtime === null) return
    const stop = AbortSignal.any([signal, runtime.cancel.signal])
    try {
      await failpoint('host.recorded')
      await startRuntime(host, runtime, stop)
    } catch (error) {
      await giveUp(host, runtime)
      throw startFailure(error, stop)
    }
  })
}

/**
 * Returns the runtime to start, or null if it runs. Removes the leftovers of an earlier attempt.
 */
async function admitOnce(host: Host, spec: RuntimeSpec): Promise<Runtime | null> {
  const known = host.runtimes.get(spec.id)
  if (known === undefined) return host.runtimes.admit(spec)
  const { state } = known.record
  if (state !== 'preparing' && !sameSpec(known.record.spec, spec))
    throw new EngineError('conflict', `runtime ${spec.id} has another spec`)
  if (state === 'ended') throw new EngineError('gone', `runtime ${spec.id} has ended`)
  if (state === 'running') return null
  await clearRuntime(host, known)
  return host.runtimes.admit(spec)
}

async function startRuntime(host: Host, runtime: Runtime, signal: AbortSignal): Promise<void> {
  const { spec } = runtime.record
  driverOf(host, spec.isolation)
  await checkRoom(host.layout.stateDir)
  if (!(await host.images.has(spec.imageDigest))) {
    throw new EngineError('not_found', `there is no image ${spec.imageDigest}`)
  }
  await allDone([host.runtimes.sync(runtime), startProcesses(host, runtime, signal)])
  host.disks.refill()
}

async function startProcesses(host: Host, runtime: Runtime, signal: AbortSignal): Promise<void> {
  const { spec } = runtime.record
  const { paths } = runtime
  // The files of a checkpoint are checked while the rest is prepared.
  const source = findSource(host, spec)
  const image =
    spec.isolation === 'container'
      ? host.imageMounts.tree(spec.imageDigest, signal)
      : host.imageMounts.file(spec.imageDigest, signal)
  await allDone([
    host.disks.take(spec.diskMiB, paths.diskImage, signal).then(() => mountDisk(paths, signal)),
    runtime.listener.open(),
    mkdir(paths.runnerState, { recursive: true, mode: 0o700 }),
    mkdir(paths.rootfs, { mode: 0o700 }),
    Promise.all([source, image]).then(([{ found }, path]) =>
      writeBundle(host, runtime, { guest: found?.guest ?? guestOf(host).sha256, image: path }),
    ),
    image,
    source,
  ])
  if (spec.isolation === 'container') await prepareUpper(host.layout, runtime)
  const begin = await source
  const guest = begin.found?.guest ?? guestOf(host).sha256
  await failpoint('host.prepared')
  const started = await host.starts.run(() => runBundle(host, runtime, begin, signal), signal)
  await failpoint('host.started')
  await host.runtimes.change(runtime, { state: 'running', guest, ...started })
  await failpoint('host.running')
}

/** The way in which a runtime begins: with the memory of a checkpoint, or cold. */
interface Beginning {
  /** Null for a cold boot. */
  readonly found: Source | null
  /** The reason for a cold boot in place of a restore. */
  readonly fallback: Fallback | null
}

/** Restores the checkpoint that was found. Boots cold if there is none or if the restore fails. */
async function runBundle(
  host: Host,
  runtime: Runtime,
  { found, fallback }: Beginning,
  signal: AbortSignal,
): Promise<{ process: ProcessId; restored: boolean; fallback: Fallback | null }> {
  const { spec } = runtime.record
  let why = fallback
  if (found !== null && host.gvisor !== null) {
    try {
      return { process: await host.gvisor.restore(runtime.paths, found, signal), restored: true, fallback: null }
    } catch (err) {
      signal.throwIfAborted()
      if (spec.restoreOnly === true) throw err
      why = { reason: 'failed', why: err instanceof Error ? err.message : String(err) }
      host.log.debug({ err, runtime: spec.id, checkpoint: spec.checkpointId }, 'cannot restore, boots cold')
      await endProcesses(host, runtime)
      await mkdir(runtime.paths.runnerState, { recursive: true, mode: 0o700 })
    }
  }
  const bundle = {
    paths: runtime.paths,
    imageMount: host.layout.imageMount(spec.imageDigest),
    firstId: runtime.record.firstId,
  }
  return { process: await driverOf(host, spec.isolation).boot(bundle, signal), restored: false, fallback: why }
}

/**
 * Finds the memory that a runtime begins with. Rejects with kind `incompatible` or `damaged` if the
 * spec allows no cold boot.
 */
async function findSource(host: Host, spec: RuntimeSpec): Promise<Beginning> {
  if (spec.checkpointId === null) return { found: null, fallback: null }
  const canRestore = spec.isolation === 'gvisor' && host.gvisor !== null
  if (!canRestore && spec.restoreOnly !== true) return { found: null, fallback: null }
  const found = canRestore
    ? await host.checkpoints.directoryFor(spec, spec.checkpointId)
    : { problem: 'incompatible' as const, why: `no runner here restores a ${spec.isolation}` }
  if ('dir' in found) return { found, fallback: null }
  const { problem, why } = found
  if (spec.restoreOnly === true) {
    const kind = problem === 'incompatible' ? 'incompatible' : 'damaged'
    throw new EngineError(kind, `checkpoint ${spec.checkpointId}: ${why}`)
  }
  host.log.debug({ why, runtime: spec.id, checkpoint: spec.checkpointId }, 'cannot restore, boots cold')
  return { found: null, fallback: { reason: problem, why } }
}

async function writeBundle(
  host: Host,
  { record: { spec, firstId }, paths }: Runtime,
  { guest, image }: { readonly guest: string; readonly image: string },
): Promise<void> {
  const input: BundleInput = {
    spec,
    paths,
    image,
    guest: host.layout.guest(guest),
    upper: diskDirs(paths).upper,
    cgroupsPath: cgroupOf(host, spec.id).path,
    limitsSwap: host.limitsSwap,
    openFilesMax: host.openFilesMax,
    firstId: firstId ?? ROOT,
    // A host without one has no containers (`driverOf`).
    rootPlace: host.rootPlace ?? '/',
    masks: spec.isolation === 'container' ? await kernelMasks() : [],
    arch: arch(),
  }
  const config = spec.isolation === 'gvisor' ? gvisorConfig(input) : containerConfig(input)
  await writeFile(paths.config, JSON.stringify(config), { mode: 0o600 })
}

/**
 * Undoes a start that failed. If that fails, too, the record stays and the next `ensure` or
 * `remove` continues.
 */
async function giveUp(host: Host, runtime: Runtime): Promise<void> {
  try {
    await clearRuntime(host, runtime)
    await forgetRuntime(host, runtime)
  } catch (err) {
    host.log.error({ err, runtime: runtime.paths.id }, 'cannot remove a runtime that did not start')
  }
}

function startFailure(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (hasCode(error, 'ENOSPC', 'EDQUOT'))
    return new EngineError('no_space', 'no space for the runtime', { cause: error })
  return error instanceof EngineError ? error : new EngineError('failed', 'cannot start the runtime', { cause: error })
}
