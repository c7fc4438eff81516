import type { Fallback, RuntimeSpec } from '@holt/engine'
import type { Service } from '../service.ts'
import { templateName } from './find-template.ts'

/** A log line for each checkpoint is enough; past so many only the metric counts. */
const mostTold = 1000

/**
 * Counts the runtimes that were booted cold although they have a checkpoint, and logs the first one
 * of each checkpoint: a template has one, and a create a second would fill the log.
 */
export class Fallbacks {
  readonly #service: () => Pick<Service, 'store' | 'log' | 'metrics'>
  readonly #told = new Set<string>()

  constructor(service: () => Pick<Service, 'store' | 'log' | 'metrics'>) {
    this.#service = service
  }

  /** Never rejects: a runtime that runs is not lost for a line of the log. */
  async note({ checkpointId, isolation }: RuntimeSpec, { reason, why }: Fallback): Promise<void> {
    const { metrics, log, store } = this.#service()
    metrics.engine.noteFallback({ isolation, reason })
    if (checkpointId === null || this.#told.has(checkpointId) || this.#told.size >= mostTold) return
    this.#told.add(checkpointId)
    const template = await store.db
      .selectFrom('templates')
      .select(['template_id', 'name', 'tag'])
      .where('checkpoint_id', '=', checkpointId)
      .executeTakeFirst()
      .catch(() => undefined) // The line is worth more than the name in it.
    const of = template === undefined ? {} : { template: templateName(template), template_id: template.template_id }
    log.warn(
      { ...of, checkpoint_id: checkpointId, isolation, reason, why },
      'a checkpoint cannot be restored: runtimes of its template boot cold',
    )
  }
}
