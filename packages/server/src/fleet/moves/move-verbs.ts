import { z } from 'zod'
import type { RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { Refusals } from '../../foundation/wire/placed-refusals.ts'
import { takePaused } from '../../runtimes/lifecycle/take-paused.ts'
import type { Runtimes } from '../../runtimes/runtimes.ts'
import type { OpenPeers } from '../forwarding/open-peers.ts'
import type { RowOwners } from '../forwarding/row-owners.ts'
import type { PeerVerbs } from '../peers/peer-verbs.ts'
import { takePath } from '../peers/verb-paths.ts'
import type { ResumeElsewhere } from './move-away.ts'

/** The time for another host to take a runtime, in milliseconds. Its resume goes on afterwards. */
const takeTimeoutMs = 30_000

const Take = z.object({ projectId: z.string().max(64), runtimeId: z.string().max(64) })

/** Returns what this host does for another one that is emptied. */
export function moveVerbs(service: Runtimes): PeerVerbs {
  return {
    [takePath]: async (question) => {
      await takePaused(service, Take.parse(question))
    },
  }
}

/** Returns the function that lets another host resume a paused runtime that has left this one. */
export function resumeElsewhere(
  { log, closing }: Runtimes,
  { owners, peers }: { readonly owners: RowOwners; readonly peers: () => Pick<OpenPeers, 'ask'> | null },
): ResumeElsewhere {
  const ask = async (hostId: string, question: z.infer<typeof Take>) => {
    const signal = AbortSignal.any([closing, AbortSignal.timeout(takeTimeoutMs)])
    await peers()?.ask(hostId, takePath, question, signal)
  }
  return async ({ projectId, runtimeId }: RuntimeRef) => {
    try {
      const refusals = new Refusals()
      for (;;) {
        const owned = { type: 'runtime', projectId, id: runtimeId, wakes: 'resume' } as const
        const chosen = await owners.choose(owned, refusals)
        if (chosen?.isChosen !== true) return
        try {
          return await ask(chosen.hostId, { projectId, runtimeId })
        } catch (error) {
          refusals.note(chosen.hostId, error)
        }
      }
    } catch (err) {
      // The next request resumes it.
      log.warn({ err, runtime_id: runtimeId }, 'no other host has resumed a runtime that left this one')
    }
  }
}
