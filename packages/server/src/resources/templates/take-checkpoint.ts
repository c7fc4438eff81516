import { type Checkpoints, GuestClient, type ImageDigest } from '@holt/engine'
import { makeId } from '@holt/protocol'
import { pidsMax } from '../../foundation/config/pids-max.ts'
import { checkpointOf } from '../../foundation/rows/checkpoint-id.ts'
import type { TemplateRow } from '../../foundation/store/tables.ts'
import type { Resources } from '../resources.ts'
import { updateTemplate } from './template-rows.ts'

/**
 * The time to boot, quiesce and write, in milliseconds. It takes a second or two, and more on a
 * slow disk.
 */
const seedTimeoutMs = 120_000

/**
 * Boots a runtime of a template's image and size, and keeps its checkpoint. Runtimes of that size
 * are restored from it.
 */
export async function takeTemplateCheckpoint(
  service: Resources,
  template: TemplateRow,
  checkpoints: Checkpoints,
): Promise<TemplateRow> {
  const { engine } = service
  const seedId = makeId('runtime')
  const signal = AbortSignal.any([service.closing, AbortSignal.timeout(seedTimeoutMs)])
  const seeded = await updateTemplate(service, template, { seed_id: seedId })
  const checkpointId = checkpointOf(seedId)
  await engine.ensure(
    {
      id: seedId,
      isolation: 'gvisor',
      imageDigest: template.image_digest as ImageDigest,
      cpu: template.cpu,
      memoryMiB: template.memory_mib,
      diskMiB: template.disk_mib,
      pidsMax,
      checkpointId: null,
    },
    signal,
  )
  const guest = new GuestClient(await engine.dial(seedId, signal))
  await guest.info(signal)
  await guest.quiesce(signal)
  await checkpoints.take(seedId, checkpointId, signal)
  await engine.remove(seedId, signal)
  return updateTemplate(service, seeded, { seed_id: null, checkpoint_id: checkpointId })
}

/** Removes the leftovers of an unfinished checkpoint: its seed and its partial files. */
export async function removeUnfinished(service: Resources, template: TemplateRow): Promise<TemplateRow> {
  if (template.seed_id === null) return template
  const signal = AbortSignal.timeout(seedTimeoutMs)
  await service.engine.remove(template.seed_id, signal)
  await service.engine.ability('checkpoints')?.remove(checkpointOf(template.seed_id))
  return updateTemplate(service, template, { seed_id: null })
}
