import { createHash } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { arch, availableParallelism } from 'node:os'
import { KeyedLock, Semaphore } from '@holt/async'
import { EngineError, type ImageDigest, type Isolation } from '@holt/engine'
import { findFreezer } from './cgroups/cgroup-freezer.ts'
import { hasSwapLimit } from './cgroups/check-limits.ts'
import { detectCgroups } from './cgroups/detect-cgroups.ts'
import { cgroupParentOf } from './cgroups/runtime-cgroup.ts'
import { HostCheckpoints } from './checkpoints/host-checkpoints.ts'
import { type CheckpointMaker, cpuFeaturesOf, NO_RUNNER } from './checkpoints/manifest.ts'
import { DiskPool } from './disks/disk-pool.ts'
import { canResizeMounted } from './disks/grow-disk.ts'
import { ContainerDriver } from './drivers/container-driver.ts'
import { GvisorDriver } from './drivers/gvisor-driver.ts'
import { isThere, removeTemporaries } from './files/durable-files.ts'
import { bootTrial, clearTrial, type TrialPlace, trialOptions } from './host/boot-trial.ts'
import { startsAtOnce } from './host/describe-host.ts'
import { explainTrial } from './host/explain-trial.ts'
import { findRootPlace } from './host/find-root-place.ts'
import type { Host } from './host/host.ts'
import { installGuest, removeOldGuests } from './host/install-guest.ts'
import { probeContainers } from './host/probe-containers.ts'
import { probeRunsc } from './host/probe-runners.ts'
import { Trials } from './host/trials.ts'
import { HostEngine } from './host-engine.ts'
import { HostImages } from './images/host-images.ts'
import { ImageMounts } from './images/image-mounts.ts'
import { type Claim, claimInstallation } from './installation/claim-installation.ts'
import { type Layout, layoutOf } from './installation/layout.ts'
import type { HostEngineOptions } from './installation/options.ts'
import { findRuntimes } from './lifecycle/find-runtimes.ts'
import { removeOrphans } from './lifecycle/remove-orphans.ts'
import { Observers } from './runtimes/observers.ts'
import { RuntimeRegistry } from './runtimes/runtime-registry.ts'
import { findProgram } from './tools/find-program.ts'
import { shareLauncher } from './tools/run-tool.ts'

/**
 * Opens the engine of an installation. It claims the installation, repairs the leftovers of an
 * earlier process and finds its runtimes again. Rejects with kind `conflict` if another engine
 * holds its state directory, run directory or id.
 */
export function createHostEngine(options: HostEngineOptions): Promise<HostEngine> {
  return claimAndOpen(options, { tries: true })
}

/**
 * Claims the installation and opens its engine. With `tries` a class counts as available only after
 * a trial start. The engine of a trial makes no trials.
 */
async function claimAndOpen(options: HostEngineOptions, { tries }: { tries: boolean }): Promise<HostEngine> {
  if (!/^[a-z0-9-]{1,32}$/.test(options.installationId)) {
    throw new EngineError('invalid', `not an installation id: ${JSON.stringify(options.installationId)}`)
  }
  const layout = layoutOf(options.stateDir, options.runDir)
  await makeDirs(layout)
  const claim = await claimInstallation(options)
  try {
    return await openEngine(options, layout, { claim, tries })
  } catch (error) {
    await claim.release()
    throw error
  }
}

async function openEngine(
  options: HostEngineOptions,
  layout: Layout,
  { claim, tries }: { readonly claim: Claim; readonly tries: boolean },
): Promise<HostEngine> {
  const [runsc, runc, cgroups, guest, bootId] = await Promise.all([
    findProgram(options.runscPath ?? process.env.HOLT_RUNSC ?? 'runsc'),
    options.runcPath === undefined ? findProgram('runc', 'crun') : findProgram(options.runcPath),
    detectCgroups(),
    options.guestBinary === null ? null : installGuest(layout, options.guestBinary),
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').then((text) => text.trim()),
  ])
  const platform = options.platform ?? 'systrap'
  const observers = new Observers()
  const identity = { installationId: options.installationId, bootId, guest: guest?.sha256 ?? 'none' }
  const runtimes = new RuntimeRegistry(layout, identity, observers, options.log)
  const isUsed = (digest: ImageDigest, isolation?: Isolation) => runtimes.uses(digest, isolation)
  const images = new HostImages(layout, { isUsed, log: options.log })
  const maker = await makerHere(runsc, platform, identity.guest)
  const openFilesMax = await readOpenFilesMax()
  const rootPlace = runc === null ? null : await findRootPlace([options.stateDir, options.runDir, runc])
  const host: Host = {
    layout,
    log: options.log,
    cgroups,
    cgroupParent: cgroupParentOf(options),
    freezer: await findFreezer(cgroups),
    limitsSwap: await hasSwapLimit(cgroups),
    canGrowDisks: await canResizeMounted(),
    openFilesMax,
    rootPlace,
    guest,
    gvisor: runsc === null ? null : new GvisorDriver(runsc, platform),
    container:
      runc === null || guest === null || rootPlace === null
        ? null
        : new ContainerDriver({ runc, guest: guest.path, rootPlace, openFilesMax }),
    disks: new DiskPool(layout.disks, options.spareDisks ?? 4, options.log),
    images,
    imageMounts: new ImageMounts(layout, isUsed, options.log),
    checkpoints: new HostCheckpoints(layout, maker, (digest) => images.has(digest)),
    runtimes,
    observers,
    locks: new KeyedLock(),
    starts: new Semaphore(startsAtOnce),
    removals: new Semaphore(Math.max(8, 2 * availableParallelism())),
  }
  const endLauncher = guest === null ? () => {} : shareLauncher(guest.path)
  try {
    await Promise.all([repair(host, identity), clearTrials(options, layout)])
  } catch (error) {
    endLauncher()
    throw error
  }
  const release = () => {
    endLauncher()
    return claim.release()
  }
  const { stateDir } = layout
  const input = { stateDir, cgroups, runsc, runc, rootPlace, platform, guest: guest?.sha256 ?? null }
  const trials = guest === null || !tries ? null : makeTrials(options, layout, { guest: guest.path, rootPlace })
  return new HostEngine(host, { input, claim: { release }, trials })
}

/** Returns the trial starts. They boot in engines of their own, beside this one. */
function makeTrials(
  options: HostEngineOptions,
  layout: Layout,
  { guest, rootPlace }: { readonly guest: string; readonly rootPlace: string | null },
): Trials {
  return new Trials({
    file: layout.booted,
    log: options.log,
    boot: (isolation, signal) => bootTrial(trialPlace(options, isolation), isolation, signal),
    explain: async (isolation, error) => {
      const step =
        isolation === 'container' && rootPlace !== null
          ? await probeContainers({ guest, stateDir: layout.stateDir, rootPlace })
          : null
      return step ?? explainTrial(isolation, error)
    },
  })
}

function trialPlace(options: HostEngineOptions, isolation: Isolation): TrialPlace {
  return { options: trialOptions(options, isolation), open: (own) => claimAndOpen(own, { tries: false }) }
}

/** Removes the leftovers of a process that was killed during a trial. */
async function clearTrials(options: HostEngineOptions, layout: Layout): Promise<void> {
  for (const isolation of ['gvisor', 'container'] as const)
    if (await isThere(layout.trial(isolation))) await clearTrial(trialPlace(options, isolation))
}

/** Adopts or removes the leftovers of an earlier process. */
async function repair(
  host: Host,
  identity: { readonly installationId: string; readonly bootId: string },
): Promise<void> {
  await Promise.all([removeTemporaries(host.layout.disks), host.checkpoints.removeTemporaries()])
  await host.disks.open()
  await findRuntimes(host, identity)
  await host.runtimes.claimIds()
  await removeOrphans(host, identity.installationId)
  await host.imageMounts.releaseUnused()
  await host.images.repair()
  if (host.guest === null) return
  await removeOldGuests(
    host.layout,
    new Set([
      host.guest.sha256,
      ...host.runtimes.all().map((runtime) => runtime.record.guest),
      ...(await host.checkpoints.guests()),
    ]),
  )
}

/** Returns the dependencies of a checkpoint made now. */
async function makerHere(runsc: string | null, platform: string, guest: string): Promise<CheckpointMaker> {
  const runner = runsc === null ? null : await probeRunsc(runsc)
  const features = cpuFeaturesOf(await readFile('/proc/cpuinfo', 'utf8'))
  return {
    runner: runner !== null && 'version' in runner ? `runsc ${runner.version}` : NO_RUNNER,
    platform,
    arch: arch(),
    cpuFeatures: createHash('sha256').update(features).digest('hex'),
    guest,
  }
}

async function makeDirs(layout: Layout): Promise<void> {
  const dirs = [layout.imageMounts, layout.checkpoints, layout.disks, layout.guests, layout.runtimes, layout.runDir]
  for (const dir of [layout.stateDir, ...dirs]) await mkdir(dir, { recursive: true, mode: 0o700 })
}

/**
 * Returns the engine's own hard limit of open files (`getrlimit(2)`). Root in a container cannot
 * exceed it.
 */
async function readOpenFilesMax(): Promise<number> {
  const hard = /^Max open files +\S+ +(\S+)/m.exec(await readFile('/proc/self/limits', 'utf8'))?.[1]
  return hard === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(hard)
}
