import { type CreateRuntime, defaultTemplate, HoltError } from '@holt/protocol'
import { RecentMap } from '../../foundation/recent-map.ts'
import type { SnapshotRow, TemplateRow } from '../../foundation/store/tables.ts'
import type { Inside } from '../../inside/inside.ts'
import { findTemplate } from '../../resources/templates/find-template.ts'
import { shapeOfTemplate } from '../../runtimes/pools/pool-shape.ts'
import { findSnapshot } from '../../runtimes/snapshots/find-snapshot.ts'
import type { Need } from './need.ts'

/** A source is used for this long, in milliseconds. */
const keptMs = 60_000

/** An older source is read again behind the create that asks for it, in milliseconds. */
const renewedAfterMs = 1_000

/** The maximum number of sources that are kept. */
const mostKept = 10_000

/** The bytes of an image or a checkpoint whose size is unknown. */
const unknownBytes = 256 * 2 ** 20

/** The need of a create, and the key by which hosts are ranked for it. */
export interface CreateNeed {
  readonly homeKey: string
  readonly need: Need
}

/** The facts about image and checkpoint that all hosts share, by id. */
type SharedFacts = ReadonlyMap<string, { readonly bytes: number; readonly class_id: string | null }>

type Source = (
  | { readonly type: 'template'; readonly row: TemplateRow }
  | { readonly type: 'snapshot'; readonly row: SnapshotRow }
) & { readonly shared: SharedFacts }

/** The sources of creates, as this host has read them lately. A known one costs no statement. */
export class CreateNeeds {
  readonly #service: Pick<Inside, 'artifacts' | 'config' | 'store' | 'log'>
  readonly #kept = new RecentMap<string, { source: Source; at: number }>(mostKept)
  readonly #monotonic: () => number

  constructor(
    service: Pick<Inside, 'artifacts' | 'config' | 'store' | 'log'>,
    monotonic: () => number = () => performance.now(),
  ) {
    this.#service = service
    this.#monotonic = monotonic
  }

  /** Returns the need of a create. Null: it has no source, and any host says so. */
  async of(projectId: string, create: CreateRuntime): Promise<CreateNeed | null> {
    try {
      const source = await this.#source(projectId, create)
      return source.type === 'template'
        ? templateNeed(projectId, create, { ...source, isolation: this.#service.config.isolation ?? 'gvisor' })
        : snapshotNeed(projectId, create, source)
    } catch (error) {
      if (error instanceof HoltError) return null
      throw error
    }
  }

  async #source(projectId: string, { snapshot, template = defaultTemplate }: CreateRuntime): Promise<Source> {
    const name = snapshot === undefined ? `${projectId} template ${template}` : `${projectId} snapshot ${snapshot}`
    const read = async (): Promise<Source> => {
      const { store } = this.#service
      if (snapshot !== undefined) {
        const row = await findSnapshot(store.db, { projectId, reference: snapshot })
        return { type: 'snapshot', row, shared: await this.#shared([row.image_digest, row.checkpoint_id]) }
      }
      const row = await findTemplate({ store }, { projectId, reference: template })
      return { type: 'template', row, shared: await this.#shared([row.image_digest]) }
    }
    const known = this.#kept.get(name)
    const ageMs = known === undefined ? keptMs : this.#monotonic() - known.at
    if (known === undefined || ageMs >= keptMs) return this.#keep(name, read)
    if (ageMs >= renewedAfterMs) {
      known.at = this.#monotonic()
      this.#keep(name, read).catch((err: unknown) => {
        this.#kept.delete(name)
        this.#service.log.debug({ err }, 'the source of a create could not be read again')
      })
    }
    return known.source
  }

  /** Returns what the rows of artifacts say. Without a shared store there are none. */
  async #shared(ids: readonly (string | null)[]): Promise<SharedFacts> {
    const { artifacts, store } = this.#service
    const known = ids.filter((id) => id !== null)
    if (!artifacts.isShared || known.length === 0) return new Map()
    const rows = await store.db
      .selectFrom('artifacts')
      .select(['artifact_id', 'bytes', 'class_id'])
      .where('artifact_id', 'in', known)
      .execute()
    return new Map(rows.map(({ artifact_id, bytes, class_id }) => [artifact_id, { bytes, class_id }]))
  }

  async #keep(name: string, read: () => Promise<Source>): Promise<Source> {
    const source = await read()
    this.#kept.set(name, { source, at: this.#monotonic() })
    return source
  }
}

function templateNeed(
  projectId: string,
  create: CreateRuntime,
  {
    row,
    shared,
    isolation: usual,
  }: { readonly row: TemplateRow; readonly shared: SharedFacts; readonly isolation: Need['isolation'] },
): CreateNeed {
  const isolation = create.isolation ?? usual
  const { cpu = row.cpu, memory = row.memory_mib, disk = row.disk_mib } = create
  // Each class of hosts has a checkpoint of its own. It is small, and a host without it boots.
  const shape = cpu === row.cpu && memory === row.memory_mib ? shapeOfTemplate(row, isolation, null) : null
  return {
    homeKey: row.template_id,
    need: {
      ...{ projectId, isolation, checkpoint: null, restoreOnly: false, classId: null },
      ...{ image: row.state === 'ready' ? row.image_digest : null, memoryMiB: memory, diskMiB: disk },
      bytes: { image: bytesOf(shared, row.image_digest), checkpoint: 0 },
      ...{ spread: create.spread ?? null, shape },
    },
  }
}

function snapshotNeed(
  projectId: string,
  create: CreateRuntime,
  { row, shared }: { readonly row: SnapshotRow; readonly shared: SharedFacts },
): CreateNeed {
  const { memory = row.memory_mib, disk = row.disk_mib } = create
  const hasMemory = row.checkpoint_id !== null
  return {
    homeKey: row.snapshot_id,
    need: {
      ...{ projectId, isolation: hasMemory ? row.isolation : (create.isolation ?? row.isolation) },
      ...{ image: row.image_digest, checkpoint: row.checkpoint_id, restoreOnly: hasMemory },
      ...{ classId: classOf(shared, row.checkpoint_id), memoryMiB: memory, diskMiB: disk },
      bytes: { image: bytesOf(shared, row.image_digest), checkpoint: bytesOf(shared, row.checkpoint_id) },
      ...{ spread: create.spread ?? null, shape: null },
    },
  }
}

function bytesOf(shared: SharedFacts, id: string | null): number {
  return id === null ? 0 : (shared.get(id)?.bytes ?? unknownBytes)
}

/** Returns the class of the hosts that restore a checkpoint. Null: none, or unknown. */
function classOf(shared: SharedFacts, checkpointId: string | null): string | null {
  return checkpointId === null ? null : (shared.get(checkpointId)?.class_id ?? null)
}
