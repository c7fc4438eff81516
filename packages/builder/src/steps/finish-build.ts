import type { CheckpointInfo, ImageDigest } from '@holt/engine'
import { z } from 'zod'
import type { BuildHost, BuildRequest, FinalSettings } from '../contract/build-contract.ts'
import { finishTemplate } from '../start/finish-template.ts'
import { cacheKey } from './cache-key.ts'
import { finalSettings } from './final-settings.ts'
import { rootOf, type StageNode } from './stage-node.ts'
import type { StateCache } from './state-cache.ts'
import type { StepList } from './step-list.ts'

/** The finished image, with its checkpoint and settings. */
export interface Finished {
  readonly imageDigest: ImageDigest
  readonly sizeBytes: number
  readonly checkpoint: CheckpointInfo | null
  readonly settings: FinalSettings
}

const Facts = z.object({
  user: z.string(),
  imageBytes: z.number().min(0),
  checkpoint: z
    .object({ cpu: z.number(), memoryMiB: z.number(), diskMiB: z.number(), sizeBytes: z.number() })
    .nullable(),
})

/**
 * Returns the key of a build's result: the files of its image, and everything else that it depends
 * on.
 */
export function resultKey(target: StageNode, request: BuildRequest): string {
  const { startCmd, readyCmd, cpu, memoryMiB, diskMiB, env, policyKey } = request
  return cacheKey(target.key, [
    'result',
    target.settings,
    rootOf(target).kept,
    env,
    startCmd,
    readyCmd,
    cpu,
    memoryMiB,
    diskMiB,
    policyKey,
  ])
}

/** Returns the result of an earlier build with the same inputs, or null. */
export async function findFinished(
  key: string,
  {
    target,
    request,
    cache,
  }: { readonly target: StageNode; readonly request: BuildRequest; readonly cache: StateCache },
): Promise<Finished | null> {
  const cached = await cache.findCached(key)
  const facts = Facts.safeParse(cached?.facts)
  if (cached === null || !facts.success) return null
  const { user, imageBytes, checkpoint } = facts.data
  const { imageDigest } = cached
  if ((checkpoint !== null) !== (cached.type === 'checkpoint')) return null
  // Earlier versions of Holt took a checkpoint of every template. The entry is replaced.
  if (checkpoint !== null && request.startCmd === null) return null
  return {
    imageDigest,
    sizeBytes: imageBytes,
    checkpoint:
      checkpoint === null || cached.type !== 'checkpoint'
        ? null
        : { checkpointId: cached.checkpointId, imageDigest, isolation: 'gvisor', ...checkpoint },
    settings: finalSettings(target.settings, request, { user, kept: rootOf(target).kept }),
  }
}

/** Starts the finished image, and caches the result for a build with the same inputs. */
export async function startFinished(
  { digest, sizeBytes, user }: { readonly digest: ImageDigest; readonly sizeBytes: number; readonly user: string },
  {
    target,
    request,
    host,
    cache,
    steps,
    key,
    step,
    signal,
  }: {
    readonly target: StageNode
    readonly request: BuildRequest
    readonly host: BuildHost
    readonly cache: StateCache
    readonly steps: StepList
    readonly key: string
    /** The number of the step that starts the application, from 1; null if there is none. */
    readonly step: number | null
    readonly signal: AbortSignal
  },
): Promise<Finished> {
  const settings = finalSettings(target.settings, request, { user, kept: rootOf(target).kept })
  let checkpoint: CheckpointInfo | null = null
  if (step !== null) {
    steps.start(step)
    checkpoint = (await finishTemplate({ image: { digest }, settings, request, step }, host, signal)).checkpoint
    steps.done(step)
  }
  const facts = { user, imageBytes: sizeBytes, checkpoint }
  if (checkpoint === null) await cache.putCached(key, { type: 'image', imageDigest: digest, sizeBytes, facts })
  else {
    const { checkpointId, sizeBytes: checkpointBytes } = checkpoint
    await cache.putCached(key, {
      type: 'checkpoint',
      checkpointId,
      imageDigest: digest,
      sizeBytes: checkpointBytes,
      facts,
    })
  }
  return { imageDigest: digest, sizeBytes, checkpoint, settings }
}
