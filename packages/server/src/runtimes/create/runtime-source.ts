import type { EngineFacts, Isolation } from '@holt/engine'
import { HoltError, type PolicyBody } from '@holt/protocol'
import type { Artifacts } from '../../artifacts/artifacts.ts'
import { checkpointOfClass } from '../../artifacts/class-checkpoints.ts'
import { readableBy } from '../../foundation/rows/system-project.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { NewRuntimeRow } from '../../foundation/store/tables.ts'
import type { FormerNetwork } from '../../resources/network/former-network.ts'
import type { SourceSettings } from '../state/source-settings.ts'

/** The source of a runtime, decided before it has a row. */
export interface RuntimeSource extends SourceSettings {
  readonly templateId: string
  readonly templateName: string
  readonly snapshotId: string | null
  readonly parentId: string | null
  readonly isolation: Isolation
  readonly imageDigest: string
  /**
   * The checkpoint for a runtime of exactly this `cpu` and `memoryMiB`. Null if there is none, or
   * if the class has none.
   */
  readonly checkpointId: string | null
  /** True if the template has a checkpoint, but none for the class of this host. */
  readonly lacksCheckpoint?: boolean
  /** The template's checkpoint whose application pooled runtimes of the class start themselves. */
  readonly startsLike?: string | null
  /**
   * The bytes of a snapshot's or a fork's checkpoint. Null for a template's checkpoint, which is
   * small.
   */
  readonly checkpointBytes: number | null
  /**
   * True if the runtime must start from `checkpointId`. A cold boot or another size would lose its
   * state.
   */
  readonly restoreOnly: boolean
  /** True if the restored memory had an earlier identity, so that the guest must take a new one. */
  readonly renew: boolean
  readonly cpu: number
  readonly memoryMiB: number
  /** The smallest disk size for the source, in MiB. */
  readonly diskMiB: number
  readonly user: string
  readonly workdir: string
}

/**
 * A source, and the settings that come with it. After a refusal, the source or the class may be
 * missing.
 */
export interface FoundSource<Refused extends null = never> {
  readonly source: RuntimeSource | Refused
  /** The isolation class, which the host has. */
  readonly isolation: Isolation | Refused
  /** The network of its runtimes if the create names none. */
  readonly defaultPolicy: PolicyBody | null
  /** The network that continuing programs know. Null if no program continues. */
  readonly former: FormerNetwork | null
}

/** Returns an isolation class. Throws if the host does not have it. */
export function requireIsolation(facts: EngineFacts, isolation: Isolation): Isolation {
  const lack = isolationLack(facts, isolation)
  if (lack === null) return isolation
  throw lack
}

/**
 * Returns the error for an isolation class that the host does not have; null if it has the class.
 */
export function isolationLack(facts: EngineFacts, isolation: Isolation): HoltError | null {
  const fact = facts.isolation[isolation]
  if (fact.available) return null
  const message = `The isolation ${isolation} is not available on this host: ${fact.reason}`
  const hint = fact.fix === null ? {} : { hint: fact.fix }
  return new HoltError('not_supported_here', message, { details: { isolation }, ...hint })
}

/**
 * Returns true if a row's source still has the chosen image and checkpoint. It keeps them until the
 * row refers to them. The checkpoint of a fork is held for it, and its image is its parent's.
 */
export async function isCurrent(changes: Queries, row: NewRuntimeRow, artifacts: Artifacts): Promise<boolean> {
  if (row.parent_id != null) return true
  if (row.snapshot_id != null) {
    const snapshot = await snapshotOf(changes, row).executeTakeFirst()
    return snapshot?.image_digest === row.image_digest && mayHave(row, snapshot.checkpoint_id)
  }
  const template = await templateOf(changes, row).executeTakeFirst()
  if (template === undefined || template.image_digest !== row.image_digest) return false
  return mayHave(row, null) || mayHave(row, await checkpointOfClass(artifacts, changes, template))
}

function mayHave({ checkpoint_id }: NewRuntimeRow, ofSource: string | null): boolean {
  return checkpoint_id === null || checkpoint_id === ofSource
}

function snapshotOf(changes: Queries, { project_id, snapshot_id }: NewRuntimeRow) {
  return changes
    .selectFrom('snapshots')
    .select(['image_digest', 'checkpoint_id'])
    .where('project_id', '=', project_id)
    .where('snapshot_id', '=', snapshot_id ?? '')
    .where('state', '=', 'ready')
}

function templateOf(changes: Queries, { project_id, template_id }: NewRuntimeRow) {
  return changes
    .selectFrom('templates')
    .select(['template_id', 'image_digest', 'checkpoint_id'])
    .where('project_id', 'in', readableBy(project_id))
    .where('template_id', '=', template_id)
}
