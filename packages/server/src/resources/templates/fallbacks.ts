import type { Fallback, RuntimeSpec } from '@holt/engine'
import { templateName } from '../../foundation/rows/template-name.ts'
import type { Resources } from '../resources.ts'

/** The maximum number of checkpoints that are logged. The metric counts all. */
const mostTold = 1000

/**
 * Counts the cold boots of runtimes that have a checkpoint. Only the first one of each checkpoint
 * is logged. All creates of a template share its checkpoint, and one create a second would fill the
 * log.
 */
export class Fallbacks {
  readonly #service: () => Pick<Resources, 'store' | 'log' | 'metrics'>
  readonly #told = new Set<string>()

  constructor(service: () => Pick<Resources, 'store' | 'log' | 'metrics'>) {
    this.#service = service
  }

  /**
   * Counts and logs a fallback. Never rejects, because a log line must not fail a running runtime.
   */
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
      .catch(() => undefined) // The line is logged without the name.
    const of = template === undefined ? {} : { template: templateName(template), template_id: template.template_id }
    log.warn(
      { ...of, checkpoint_id: checkpointId, isolation, reason, why },
      'a checkpoint cannot be restored: runtimes of its template boot cold',
    )
  }
}
