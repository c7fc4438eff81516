import { copyFile, mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defaultTemplate } from '@holt/protocol'
import type { Holt, Isolation } from '@holt/sdk'
import { builtRunsc } from '@holt/testkit'
import { CpuAccount } from './cpu-account.ts'
import { type EgressHost, startEgressHost } from './egress-host.ts'
import { PlainServer } from './floors/plain-server.ts'
import { type HoltDaemon, startDaemon } from './holt-daemon.ts'
import type { BatchLength, Measured } from './interleave.ts'
import { interleave } from './interleave.ts'
import { type MachineFacts, readMachineFacts } from './machine-facts.ts'
import { type MemoryUse, readMemoryUse, readProportionalBytes } from './memory-account.ts'
import { packageHostSettings } from './package-hosts.ts'
import { poolMembers, untilFull } from './pool-gauge.ts'
import { RawRunner } from './raw-runner.ts'
import { findProgram } from './run-program.ts'
import type { Subject } from './subject.ts'

/** The environment in which every row measures. */
export interface Stage {
  readonly holt: Holt
  /** The daemon's port on loopback, and the headers that its requests need. */
  readonly asked: { readonly port: number; readonly headers: Readonly<Record<string, string>> }
  readonly machine: MachineFacts
  /** The host that runtimes can reach by name. */
  readonly egressHost: EgressHost
  readonly signal: AbortSignal
  readonly say: (line: string) => void
  /** Returns the CPU time so far of the daemon, its tools and its runtimes, in milliseconds. */
  readonly holtCpuMs: () => number | null
  /**
   * Returns the CPU time so far of the programs that the bench has started, and of raw runtimes.
   */
  readonly rawCpuMs: () => number | null
  /** Returns the CPU time so far of the runtimes alone, in milliseconds. */
  readonly runtimesCpuMs: () => number | null
  /** Returns the CPU time so far of a raw runtime, without the runner that controls it. */
  readonly rawRuntimeCpuMs: (id: string) => number | null
  /** Returns the resources of Holt's runtimes, including those of pools, and of the daemon. */
  readonly standing: () => Standing
  /** Returns the memory of the raw runtimes. */
  readonly rawMemory: () => MemoryUse | null
  /**
   * Waits until the pool of a class has `ready` runtimes of a template, and is not making more.
   * Default: the default template.
   */
  untilPooled(isolation: Isolation, ready: number, template?: string): Promise<void>
  /** A server that only answers, for floors. */
  readonly plain: PlainServer
  /**
   * Opens a runner of bundles with the same image as Holt's class. Rejects if it is not installed.
   */
  openRawRunner(isolation: Isolation): Promise<RawRunner>
  /** Opens a runner of bundles with only the image, in class gvisor, for floors. */
  openBareRunner(): Promise<RawRunner>
  /** Runs subjects in turn and reports the progress. */
  batch(what: string, subjects: readonly Subject[], length: BatchLength): Promise<readonly Measured[]>
}

/** The resources that idle runtimes and the daemon use. */
interface Standing {
  readonly runtimes: MemoryUse | null
  readonly runtimesCpuMs: number | null
  readonly daemonBytes: number
  readonly daemonCpuMs: number | null
}

/** The options of a stage. */
export interface StageOptions {
  readonly repo: string
  /** The settings of the daemon. */
  readonly environment: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly say: (line: string) => void
}

const progressEveryMs = 5_000

/**
 * Prepares the stage, passes it to `use`, and removes it in any case. `use` gets a function that
 * returns the stage of a row, whose work ends with the given signal.
 */
export async function withStage<Value>(
  options: StageOptions,
  use: (stageOf: (signal: AbortSignal) => Stage) => Promise<Value>,
): Promise<Value> {
  const { repo, say } = options
  const stateDir = join(repo, '.holt/bench')
  using account = CpuAccount.open()
  await mkdir(stateDir, { recursive: true, mode: 0o700 })
  using egressHost = await startEgressHost(stateDir)
  await using plain = await PlainServer.start(stateDir, options.signal)
  const environment = { ...egressHost.environment, ...(await packageHostSettings()), ...options.environment }
  await using daemon = await startDaemon({ repo, stateDir, environment, signal: options.signal, say })
  const groups = {
    raw: `/holt-bench-${process.pid}`,
    daemon: `/holt-bench-${process.pid}-daemon`,
    runtimes: `/holt-${daemon.installation}`,
  }
  const cpuMsOf = (...names: readonly (keyof typeof groups)[]) =>
    account === null ? null : names.reduce((sum, name) => sum + account.readMs(groups[name]), 0)
  account?.move(process.pid, `${groups.raw}/bench`)
  account?.move(daemon.pid, groups.daemon)
  const machine = await readMachineFacts({
    repo,
    stateDir,
    cgroup: account === null ? 'none' : `v${account.hierarchy.version}`,
    tools: { runsc: runscPath(), runc: findProgram('runc'), podman: findProgram('podman') },
  })
  return await use((signal) => ({
    holt: daemon.holt,
    asked: { port: daemon.port, headers: { authorization: `Bearer ${daemon.key}` } },
    machine,
    egressHost,
    signal,
    say,
    holtCpuMs: () => cpuMsOf('daemon', 'runtimes'),
    rawCpuMs: () => (account === null ? null : account.readMs(groups.raw) - ownCpuMs()),
    runtimesCpuMs: () => cpuMsOf('runtimes'),
    rawRuntimeCpuMs: (id) => account?.readMs(`${groups.raw}/${id}`) ?? null,
    standing: () => ({
      runtimes: readMemoryUse(groups.runtimes),
      runtimesCpuMs: cpuMsOf('runtimes'),
      daemonBytes: readProportionalBytes(daemon.pid),
      daemonCpuMs: cpuMsOf('daemon'),
    }),
    rawMemory: () => readMemoryUse(groups.raw),
    untilPooled: (isolation, ready, template = defaultTemplate) =>
      untilFull(async () => poolMembers(await daemon.metrics(), { template, isolation }), {
        ready,
        signal,
      }),
    plain,
    openRawRunner: (isolation) => openRawRunner({ daemon, isolation, isBare: false, cgroupParent: groups.raw, signal }),
    openBareRunner: () =>
      openRawRunner({ daemon, isolation: 'gvisor', isBare: true, cgroupParent: groups.raw, signal }),
    batch: (what, subjects, length) => interleave(subjects, length, { signal, onRound: progressOf(what, say) }),
  }))
}

async function openRawRunner(asked: {
  daemon: HoltDaemon
  isolation: Isolation
  isBare: boolean
  cgroupParent: string
  signal: AbortSignal
}): Promise<RawRunner> {
  const { daemon, isolation, isBare, signal } = asked
  const program = isolation === 'gvisor' ? runscPath() : findProgram('runc')
  if (program === null)
    throw new Error(`${isolation === 'gvisor' ? 'runsc' : 'runc'} is not installed: there is nothing to compare with`)
  const scratch = await mkdtemp(join(tmpdir(), 'holt-bench-'))
  await using model = await daemon.holt.runtimes.create({ isolation }, { signal })
  const bundle = join(daemon.stateDir, 'runtimes', model.runtime_id, 'config.json')
  const template = await daemon.holt.templates.get(model.template.template_id, { signal })
  const holtConfig = join(scratch, 'holt-config.json')
  await copyFile(bundle, holtConfig)
  const image = join(daemon.stateDir, 'images', `${template.image_digest?.replace('sha256:', '')}.erofs`)
  return RawRunner.open({
    isolation,
    isBare,
    program,
    holtConfig,
    image,
    scratch,
    cgroupParent: asked.cgroupParent,
    signal,
  })
}

/** Reports the number of completed rounds, but not more often than every `progressEveryMs`. */
function progressOf(what: string, say: (line: string) => void): (done: number) => void {
  let saidAt = performance.now()
  return (done) => {
    if (performance.now() - saidAt < progressEveryMs) return
    saidAt = performance.now()
    say(`${what}: ${done} rounds`)
  }
}

function runscPath(): string {
  return process.env.HOLT_RUNSC || builtRunsc
}

function ownCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
