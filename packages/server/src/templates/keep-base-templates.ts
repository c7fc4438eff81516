import { pause } from '../pause.ts'
import type { Service } from '../service.ts'
import { type BaseWork, makeBaseTemplates } from './make-base-templates.ts'

/** A registry or a mirror that restarts is back by then. */
const firstWaitMs = 5_000
/** What stays broken is tried seldom: a try may cost a minute of two cores. */
const longestWaitMs = 10 * 60_000

/** Base templates that are on their way. */
export interface BaseTemplates {
  /** Settles when they are made, or could not be for the first time. */
  readonly tried: Promise<void>
  /** Settles when they are made, or the service closes. */
  readonly ended: Promise<void>
}

/**
 * Makes the base templates, and tries again what failed: after a few seconds, then ever more
 * seldom, as long as the service runs.
 */
export function keepBaseTemplates(service: Service, work: BaseWork, firstMs = firstWaitMs): BaseTemplates {
  const { promise: tried, resolve } = Promise.withResolvers<void>()
  const ended = repeat(service, work, { firstMs, onTried: resolve }).finally(resolve)
  return { tried, ended }
}

async function repeat(
  service: Service,
  work: BaseWork,
  { firstMs, onTried }: { firstMs: number; onTried: () => void },
): Promise<void> {
  for (let waitMs = firstMs; ; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    const made = await makeBaseTemplates(service, work).catch((error) => {
      // Even the reason could not be stored. A service without new templates still serves the
      // runtimes that it has.
      service.log.error({ err: error }, 'the base templates could not be made, nor their state be stored')
      return false
    })
    onTried()
    if (made || service.closing.aborted) return
    service.log.info({ wait_secs: waitMs / 1000 }, 'the base templates are tried again after a while')
    await pause(waitMs, service.closing)
    if (service.closing.aborted) return
  }
}
