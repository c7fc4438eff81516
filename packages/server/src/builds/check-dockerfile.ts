import { BuildError } from '@holt/builder'
import { type CheckDockerfile, type DockerfileCheck, HoltError } from '@holt/protocol'
import type { z } from 'zod'
import { limitReached } from '../foundation/errors/limit-reached.ts'
import type { Builds } from './builds.ts'

/** The maximum number of Dockerfiles that wait for a check. Each keeps its request in memory. */
const maxWaiting = { ofProject: 16, ofAll: 128 }

/**
 * Returns the effect of each line of a Dockerfile in a build. Runs outside the event loop. Throws
 * `rate_limited` or `capacity_exhausted` if too many wait, and `too_large` for a Dockerfile that
 * takes too much time or memory to read.
 */
export async function checkDockerfile(
  { builds }: Builds,
  { dockerfile, target, build_args: buildArgs }: z.output<typeof CheckDockerfile>,
  wanted: { readonly projectId: string; readonly signal: AbortSignal },
): Promise<DockerfileCheck> {
  const waiting = builds.reader.waiting(wanted.projectId)
  if (waiting.ofProject >= maxWaiting.ofProject)
    throw limitReached(
      'rate_limited',
      `${maxWaiting.ofProject} Dockerfiles of this project already wait to be checked.`,
      {
        limit: maxWaiting.ofProject,
        retry_after_secs: 1,
        hint: 'Wait until some checks have been answered.',
      },
    )
  if (waiting.ofAll >= maxWaiting.ofAll)
    throw new HoltError('capacity_exhausted', 'Too many Dockerfiles already wait to be checked.', {
      details: { retry_after_secs: 1 },
    })
  try {
    return await builds.reader.check(dockerfile, { target: target ?? null, buildArgs }, wanted)
  } catch (error) {
    if (!(error instanceof BuildError)) throw error
    throw new HoltError('too_large', error.message, error.hint === null ? {} : { hint: error.hint })
  }
}
