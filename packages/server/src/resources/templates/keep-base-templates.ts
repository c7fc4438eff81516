import { pause } from '../../foundation/async/pause.ts'
import type { Resources } from '../resources.ts'
import { type BaseWork, makeBaseTemplates } from './make-base-templates.ts'

/** The first pause in milliseconds. A registry or mirror that restarts is back by then. */
const firstWaitMs = 5_000
/** The longest pause in milliseconds. An attempt may cost a minute of two cores. */
const longestWaitMs = 10 * 60_000

/** The interval at which a host looks if the templates have become its duty, in milliseconds. */
const dutyWaitMs = 5_000

/** Base templates in progress. */
export interface BaseTemplates {
  /** Settles when the first attempt has succeeded or failed. */
  readonly tried: Promise<void>
  /** Settles when the templates are made, or when the service closes. */
  readonly ended: Promise<void>
}

/**
 * Makes the base templates, and retries after a failure. The pause begins at a few seconds and
 * doubles, while the service runs. In a fleet one host makes them. The others wait until it is
 * their duty.
 */
export function keepBaseTemplates(service: Resources, work: BaseWork, firstMs = firstWaitMs): BaseTemplates {
  const { promise: tried, resolve } = Promise.withResolvers<void>()
  const ended = repeat(service, work, { firstMs, onTried: resolve }).finally(resolve)
  return { tried, ended }
}

async function repeat(
  service: Resources,
  work: BaseWork,
  { firstMs, onTried }: { firstMs: number; onTried: () => void },
): Promise<void> {
  while (!service.duties.holds('base_templates')) {
    onTried()
    await pause(dutyWaitMs, service.closing)
    if (service.closing.aborted) return
  }
  for (let waitMs = firstMs; ; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    const made = await makeBaseTemplates(service, work).catch((error) => {
      // The reason could not be stored either. A service without new templates still serves its
      // runtimes.
      service.log.error({ err: error }, 'the base templates could not be made, and their state could not be stored')
      return false
    })
    onTried()
    if (made || service.closing.aborted) return
    service.log.info({ wait_secs: waitMs / 1000 }, 'the base templates are retried later')
    await pause(waitMs, service.closing)
    if (service.closing.aborted) return
  }
}
