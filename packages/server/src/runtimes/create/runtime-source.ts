import type { EngineFacts, Isolation } from '@holt/engine'
import { HoltError, type PolicyBody } from '@holt/protocol'
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
  /**
   * How much was written of somebody's memory and files; null where it is a template's, which is
   * next to nothing.
   */
  readonly checkpointBytes: number | null
  /**
   * True where only `checkpointId` will do: at another size, or cold, it would be another runtime.
   */
  readonly restoreOnly: boolean
  /**
   * True where what is restored was somebody's already, and has to be told that it is another
   * runtime now.
   */
  readonly renew: boolean
  readonly cpu: number
  readonly memoryMiB: number
  /** The smallest disk that it fits on. */
  readonly diskMiB: number
  readonly user: string
  readonly workdir: string
}

/**
 * A source, and what a create goes by beside it. A refusal may leave the source open, or its class.
 */
export interface FoundSource<Refused extends null = never> {
  readonly source: RuntimeSource | Refused
  /** The class of isolation that the host has for it. */
  readonly isolation: Isolation | Refused
  /** The network of its runtimes if the create names none. */
  readonly defaultPolicy: PolicyBody | null
  /** The network that continuing programs know. Null if no program continues. */
  readonly former: FormerNetwork | null
}

/** Returns a class of isolation, and refuses one that the host has not. */
export function requireIsolation(facts: EngineFacts, isolation: Isolation): Isolation {
  const lack = isolationLack(facts, isolation)
  if (lack === null) return isolation
  throw lack
}

/** Returns the error for a class of isolation that the host has not; null where it has it. */
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
export async function isCurrent(changes: Queries, row: NewRuntimeRow): Promise<boolean> {
  if (row.parent_id != null) return true
  const source = await (row.snapshot_id != null
    ? snapshotOf(changes, row)
    : templateOf(changes, row)
  ).executeTakeFirst()
  return (
    source?.image_digest === row.image_digest &&
    (row.checkpoint_id === null || row.checkpoint_id === source.checkpoint_id)
  )
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
    .select(['image_digest', 'checkpoint_id'])
    .where('project_id', 'in', readableBy(project_id))
    .where('template_id', '=', template_id)
}
