import { defaultTemplate } from '@holt/protocol'
import { checkpointsOfClass } from '../../artifacts/class-checkpoints.ts'
import { defaultTag, templateName } from '../../foundation/rows/template-name.ts'
import type { Runtimes } from '../runtimes.ts'
import { type PoolKey, type PoolShape, poolKey, shapeOfTemplate } from './pool-shape.ts'

/** The present shape of the members of a pool. */
export interface CurrentShape {
  readonly templateName: string
  readonly shape: PoolShape
  /** True for the pool of a create without settings. It has members before the first create. */
  readonly isDefault: boolean
}

/**
 * Returns the shapes that pools can have now: of every ready template, in every class of the host.
 */
export async function currentShapes(
  service: Pick<Runtimes, 'artifacts' | 'engine' | 'store' | 'config'>,
): Promise<ReadonlyMap<PoolKey, CurrentShape>> {
  const { isolation: classes } = await service.engine.describe()
  const templates = await service.store.db.selectFrom('templates').selectAll().where('state', '=', 'ready').execute()
  const checkpoints = await checkpointsOfClass(service.artifacts, service.store.db, templates)
  const shapes = new Map<PoolKey, CurrentShape>()
  for (const template of templates) {
    const isDefaultTemplate =
      template.kind === 'system' && template.name === defaultTemplate && template.tag === defaultTag
    for (const isolation of ['gvisor', 'container'] as const) {
      const shape = classes[isolation].available
        ? shapeOfTemplate(template, isolation, checkpoints.get(template.template_id) ?? null)
        : null
      if (shape === null) continue
      const isDefault = isDefaultTemplate && isolation === (service.config.isolation ?? 'gvisor')
      shapes.set(poolKey(shape), { templateName: templateName(template), shape, isDefault })
    }
  }
  return shapes
}
