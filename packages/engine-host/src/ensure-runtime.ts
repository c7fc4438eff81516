import { mkdir, statfs, writeFile } from 'node:fs/promises'
import { arch } from 'node:os'
import { EngineError, type RuntimeSpec } from '@holt/engine'
import type { BundleInput } from './bundles/bundle-input.ts'
import { containerConfig } from './bundles/container-config.ts'
import { gvisorConfig } from './bundles/gvisor-config.ts'
import { diskDirs, mountDisk } from './disks/mount-disk.ts'
import { cgroupOf, driverOf, guestOf, type Host } from './host/host.ts'
import { mountRoot } from './images/mount-root.ts'
import { clearRuntime, endProcesses, forgetRuntime } from './remove-runtime.ts'
import { checkSpec, sameSpec } from './runtimes/check-spec.ts'
import type { Runtime } from './runtimes/runtime-registry.ts'
import { allDone } from './tools/all-done.ts'
import { hasCode } from './tools/durable-files.ts'
import type { ProcessId } from './tools/process-table.ts'

/** Below this the host's disk counts as full: what runs needs room to go on. */
const DISK_RESERVE_BYTES = 256 * 2 ** 20

/**
 * Makes a runtime exist and run. In order: write down what is wanted; at once the disk, the socket and the image; the root; the bundle; the runner. A failure takes
 * all of it away again.
 */
export async function ensureRuntime(host: Host, spec: RuntimeSpec, signal: AbortSignal): Promise<void> {
  checkSpec(spec)
  await host.locks.run(spec.id, async () => {
    signal.throwIfAborted()
    const runtime = await admitOnce(host, spec)
    if (runtime === null) return
    const stop = AbortSignal.any([signal, runtime.cancel.signal])
    try {
      await startRuntime(host, runtime, stop)
    } catch (error) {
      await giveUp(host, runtime)
      throw startFailure(error, stop)
    }
  })
}

/** Answers the runtime to start, or null when it runs. What an earlier attempt has left is taken away. */
async function admitOnce(host: Host, spec: RuntimeSpec): Promise<Runtime | null> {
  const known = host.runtimes.get(spec.id)
  if (known === undefined) return host.runtimes.admit(spec)
  if (!sameSpec(known.record.spec, spec)) throw new EngineError('conflict', `runtime ${spec.id} has another spec`)
  if (known.record.state === 'ended') throw new EngineError('gone', `runtime ${spec.id} has ended`)
  if (known.record.state === 'running') return null
  await clearRuntime(host, known)
  return host.runtimes.admit(spec)
}

async function startRuntime(host: Host, runtime: Runtime, signal: AbortSignal): Promise<void> {
  const { spec } = runtime.record
  driverOf(host, spec.isolation)
  await checkRoom(host)
  if (!(await host.images.has(spec.imageDigest))) {
    throw new EngineError('not_found', `there is no image ${spec.imageDigest}`)
  }
  await allDone([host.runtimes.sync(runtime), startProcesses(host, runtime, signal)])
  host.disks.refill()
}

async function startProcesses(host: Host, runtime: Runtime, signal: AbortSignal): Promise<void> {
  const { spec } = runtime.record
  const { paths } = runtime
  await allDone([
    host.disks.take(spec.diskMiB, paths.diskImage, signal).then(() => mountDisk(paths, signal)),
    runtime.door.open(),
    mkdir(paths.runnerState, { recursive: true, mode: 0o700 }),
    mkdir(paths.rootfs, { mode: 0o700 }),
    writeBundle(host, runtime),
    spec.isolation === 'container' ? host.imageMounts.acquire(spec.imageDigest, signal) : null,
  ])
  if (spec.isolation === 'container') await mountRoot(host.layout, runtime, signal)
  const started = await host.starts.run(signal, () => runBundle(host, runtime, signal))
  await host.runtimes.change(runtime, { state: 'running', ...started })
}

/** From the checkpoint where there is one that fits, else cold. */
async function runBundle(
  host: Host,
  runtime: Runtime,
  signal: AbortSignal,
): Promise<{ process: ProcessId; restored: boolean }> {
  const { spec } = runtime.record
  if (spec.checkpointId !== null && spec.isolation === 'gvisor' && host.gvisor !== null) {
    const found = await host.checkpoints.directoryFor(spec, spec.checkpointId)
    try {
      if ('why' in found) throw new EngineError('invalid', found.why)
      return { process: await host.gvisor.restore(runtime.paths, found.dir, signal), restored: true }
    } catch (err) {
      signal.throwIfAborted()
      host.log.warn({ err, runtime: spec.id, checkpoint: spec.checkpointId }, 'cannot restore, boots cold')
      await endProcesses(host, runtime)
      await mkdir(runtime.paths.runnerState, { recursive: true, mode: 0o700 })
    }
  }
  return { process: await driverOf(host, spec.isolation).boot(runtime.paths, signal), restored: false }
}

async function writeBundle(host: Host, { record: { spec }, paths }: Runtime): Promise<void> {
  const input: BundleInput = {
    spec,
    paths,
    image: host.layout.image(spec.imageDigest),
    guest: guestOf(host).path,
    upper: diskDirs(paths).upper,
    cgroupsPath: cgroupOf(host, spec.id).path,
    limitsSwap: host.limitsSwap,
    openFilesMax: host.openFilesMax,
    arch: arch(),
  }
  const config = spec.isolation === 'gvisor' ? gvisorConfig(input) : containerConfig(input)
  await writeFile(paths.config, JSON.stringify(config), { mode: 0o600 })
}

async function checkRoom(host: Host): Promise<void> {
  const { bavail, bsize } = await statfs(host.layout.stateDir)
  if (bavail * bsize < DISK_RESERVE_BYTES)
    throw new EngineError('no_space', `less than 256 MiB are free in ${host.layout.stateDir}`)
}

/** Undoes a start that failed. If even that fails the record stays, and the next `ensure` or `remove` goes on. */
async function giveUp(host: Host, runtime: Runtime): Promise<void> {
  try {
    await clearRuntime(host, runtime)
    await forgetRuntime(host, runtime)
  } catch (err) {
    host.log.error({ err, runtime: runtime.paths.id }, 'cannot take away a runtime that did not start')
  }
}

function startFailure(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (hasCode(error, 'ENOSPC', 'EDQUOT'))
    return new EngineError('no_space', 'no space for the runtime', { cause: error })
  return error instanceof EngineError ? error : new EngineError('failed', 'cannot start the runtime', { cause: error })
}
