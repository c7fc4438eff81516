import type { CheckpointInfo, Checkpoints } from '@holt/engine'
import type { StartHost } from '../contract/build-contract.ts'
import { BuildError } from '../errors.ts'
import { keepSeed } from './keep-seed.ts'
import { bootSeed, type Finishing, startSeed } from './seed-runtime.ts'

/**
 * Boots a runtime of the finished image at the template's size, starts its application, waits until
 * that is ready, and takes a checkpoint. Runtimes of the template resume from the checkpoint with
 * the application running.
 *
 * Without a `start_cmd` nothing is done, and the checkpoint is null: a boot takes less CPU time and
 * memory than a restore (docs/decisions/017-restored-with-an-application.md). Without the ability
 * of checkpoints the application is only tried, and the checkpoint is null.
 *
 * While the application starts, the build's network policy applies. A runtime has a policy of its
 * own. If a checkpoint cannot hold the application's network connections, the application is
 * started once more without a network. If that fails too, the checkpoint is null, and each runtime
 * starts the application when it boots.
 */
export async function finishTemplate(
  finishing: Finishing,
  host: StartHost,
  signal: AbortSignal,
): Promise<{ readonly checkpoint: CheckpointInfo | null }> {
  const { startCmd } = finishing.request
  if (startCmd === null) return { checkpoint: null }
  const checkpoints = host.isolation === 'gvisor' ? host.engine.ability('checkpoints') : null
  host.report.status('snapshotting')
  const warn = (message: string) => host.report.log({ level: 'warn', step: finishing.step ?? null, message })
  const attempt = { finishing, startCmd, host, checkpoints, signal }
  const first = await startAndKeep(attempt, { withNetwork: true })
  if (first.type === 'done') return { checkpoint: first.checkpoint }
  if (first.hadNetwork) {
    warn(
      'A checkpoint cannot keep the network connections of start_cmd. start_cmd is started again without the network.',
    )
    const second = await startAndKeep(attempt, { withNetwork: false }).catch(needsNetwork)
    if (second.type === 'done') return { checkpoint: second.checkpoint }
  }
  warn('A checkpoint cannot keep what start_cmd opened. Each runtime runs start_cmd when it starts.')
  return { checkpoint: null }
}

interface Attempt {
  readonly finishing: Finishing
  readonly startCmd: string
  readonly host: StartHost
  readonly checkpoints: Checkpoints | null
  readonly signal: AbortSignal
}

type Outcome =
  | { readonly type: 'done'; readonly checkpoint: CheckpointInfo | null }
  | { readonly type: 'not kept'; readonly hadNetwork: boolean }

async function startAndKeep(
  { finishing, startCmd, host, checkpoints, signal }: Attempt,
  { withNetwork }: { readonly withNetwork: boolean },
): Promise<Outcome> {
  await using runtime = await host.newRuntime()
  const seed = { finishing, host, id: runtime.id, signal }
  const guest = await bootSeed(seed, null)
  const network = withNetwork ? await runtime.openNetwork(signal) : null
  await startSeed(guest, seed, { startCmd, network })
  if (checkpoints === null) return { type: 'done', checkpoint: null }
  const checkpoint = await keepSeed(guest, seed, checkpoints)
  return checkpoint === null ? { type: 'not kept', hadNetwork: network !== null } : { type: 'done', checkpoint }
}

/** Returns the outcome of an application that started with the network and fails without it. */
function needsNetwork(error: unknown): Outcome {
  if (error instanceof BuildError) return { type: 'not kept', hadNetwork: false }
  throw error
}
