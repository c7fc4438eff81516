import type { Builds } from '../../builds/builds.ts'
import { pause } from '../../foundation/async/pause.ts'
import { registerDrain } from '../metrics/drain-metrics.ts'
import { AwayLinks } from './away-links.ts'
import { Drain } from './drain.ts'
import type { ResumeElsewhere } from './move-away.ts'
import { Releases } from './releases.ts'

/** The longest interval of looks, in milliseconds. */
const lookMs = 1_000

interface MovesOptions {
  /** The interval of beats, in milliseconds. Looks are as frequent at least. */
  readonly beatMs: number
  readonly resumeElsewhere: ResumeElsewhere
  /** Gives queued builds to other hosts. */
  readonly builds: { look(): Promise<void> }
}

/**
 * Gives this host's paused runtimes to the fleet, and empties it of runtimes and queued builds
 * while an operator wants that. Ends when the service closes. Never rejects.
 */
export async function keepMoves(service: Builds, { beatMs, resumeElsewhere, builds }: MovesOptions): Promise<void> {
  const { closing, thisHost, log } = service
  registerDrain(service)
  const steps = [new Drain(service, resumeElsewhere), builds, new Releases(service), new AwayLinks(service)]
  while (!closing.aborted) {
    for (const step of steps) {
      if (thisHost.fenced || closing.aborted) continue
      await step.look().catch((err: unknown) => {
        if (!closing.aborted) log.warn({ err }, 'the runtimes that leave this host could not be looked at')
      })
    }
    await pause(Math.min(lookMs, beatMs), closing)
  }
}
