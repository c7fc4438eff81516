import type { ImageDigest, Isolation } from '@holt/engine'
import type { PoolMemberRow, TemplateRow } from '../../foundation/store/tables.ts'

/** The properties that all members of a pool share. A claim adds everything else. */
export interface PoolShape {
  readonly templateId: string
  readonly isolation: Isolation
  readonly imageDigest: ImageDigest
  /** The checkpoint of members. Null: members are booted. */
  readonly checkpointId: string | null
  /**
   * The template's checkpoint, for members of a class without checkpoints: they start the
   * application that runs in it before they are claimed. Null: members start nothing.
   */
  readonly startsLike: string | null
  readonly cpu: number
  readonly memoryMiB: number
  readonly diskMiB: number
}

/** The key of a pool. A template has one pool for each class of isolation. */
export type PoolKey = `${string} ${Isolation}`

export function poolKey({ templateId, isolation }: Pick<PoolShape, 'templateId' | 'isolation'>): PoolKey {
  return `${templateId} ${isolation}`
}

/**
 * Returns the present shape of the members of a template's pool. Null if none can be made.
 * `checkpointId` is the checkpoint of the template that this host restores.
 */
export function shapeOfTemplate(
  template: Pick<
    TemplateRow,
    'template_id' | 'state' | 'image_digest' | 'checkpoint_id' | 'start_cmd' | 'cpu' | 'memory_mib' | 'disk_mib'
  >,
  isolation: Isolation,
  checkpointId: string | null,
): PoolShape | null {
  if (template.state !== 'ready' || template.image_digest === null) return null
  return {
    templateId: template.template_id,
    isolation,
    imageDigest: template.image_digest as ImageDigest,
    checkpointId: isolation === 'gvisor' ? checkpointId : null,
    startsLike: startsLike(template, isolation),
    cpu: template.cpu,
    memoryMiB: template.memory_mib,
    diskMiB: template.disk_mib,
  }
}

/**
 * Returns the checkpoint whose application runtimes of a class start by themselves before they have
 * an owner. Null if they have it already, or start it with the settings of their owner.
 */
export function startsLike(
  { start_cmd, checkpoint_id }: Pick<TemplateRow, 'start_cmd' | 'checkpoint_id'>,
  isolation: Isolation,
): string | null {
  return isolation === 'container' && start_cmd !== null ? checkpoint_id : null
}

/**
 * Returns the shape of a stored member. A member that has started an application has another one,
 * and so does not outlive the process that made it.
 */
export function shapeOfMember(row: PoolMemberRow): PoolShape {
  return {
    templateId: row.template_id,
    isolation: row.isolation,
    imageDigest: row.image_digest as ImageDigest,
    checkpointId: row.checkpoint_id,
    startsLike: null,
    cpu: row.cpu,
    memoryMiB: row.memory_mib,
    diskMiB: row.disk_mib,
  }
}

const fields = [
  ...(['templateId', 'isolation', 'imageDigest', 'checkpointId', 'startsLike'] as const),
  ...(['cpu', 'memoryMiB', 'diskMiB'] as const),
]

/** Returns true if both shapes are the same. */
export function sameShape(one: PoolShape, other: PoolShape): boolean {
  return fields.every((field) => one[field] === other[field])
}
