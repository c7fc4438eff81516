import { isEngineError } from '../engine-errors.ts'
import { endedStates } from '../runtimes/states.ts'
import type { Service } from '../service.ts'
import type { Queries } from '../store/open-store.ts'
import { checkpointOf } from '../templates/take-checkpoint.ts'
import { evictCache } from './evict-cache.ts'
import type { Collection } from './holds.ts'

/** Removes what nobody needs any more, one run after another however often it is asked for. */
export class Collector {
  readonly #service: () => Service
  #running: Promise<void> | null = null
  #again = false

  constructor(service: () => Service) {
    this.#service = service
  }

  /** Asks for a run, and does not wait for it. */
  request(): void {
    void this.run()
  }

  /** Runs, or waits for a run that begins after this call. */
  async run(): Promise<void> {
    if (this.#running !== null) {
      this.#again = true
      await this.#running
      return
    }
    this.#running = this.#repeat()
    await this.#running
  }

  async #repeat(): Promise<void> {
    try {
      do {
        this.#again = false
        await collect(this.#service())
      } while (this.#again)
    } catch (error) {
      // What is left now is found by the next run.
      this.#service().log.error({ err: error }, 'what nobody needs any more could not be removed')
    } finally {
      this.#running = null
    }
  }
}

async function collect(service: Service): Promise<void> {
  if (service.closing.aborted) return
  await evictCache(service)
  using collection = service.builds.holds.beginCollection()
  const used = await service.store.change((changes) => referenced(changes))
  await removeCheckpoints(service, { used, collection })
  await removeImages(service, { used, collection })
}

/** Every image and checkpoint that a row refers to, of every project: the engine knows no projects. */
async function referenced(db: Queries): Promise<ReadonlySet<string>> {
  const templates = await db.selectFrom('templates').select(['image_digest', 'checkpoint_id', 'seed_id']).execute()
  const runtimes = await db
    .selectFrom('runtimes')
    .select(['image_digest', 'checkpoint_id'])
    .where('state', 'not in', endedStates)
    .execute()
  const cached = await db.selectFrom('build_cache').select(['image_digest', 'checkpoint_id']).execute()
  const pulled = await db.selectFrom('pulled_images').select('image_digest').execute()
  const made = await db.selectFrom('build_resources').select('resource_id').execute()
  const ids = [
    ...[...templates, ...runtimes, ...cached].flatMap((row) => [row.image_digest, row.checkpoint_id]),
    ...templates.map(({ seed_id }) => (seed_id === null ? null : checkpointOf(seed_id))),
    ...pulled.map((row) => row.image_digest),
    ...made.map((row) => row.resource_id),
  ]
  return new Set(ids.filter((id) => id !== null))
}

interface Unneeded {
  readonly used: ReadonlySet<string>
  readonly collection: Collection
}

async function removeCheckpoints({ engine, log }: Service, { used, collection }: Unneeded): Promise<void> {
  const checkpoints = engine.ability('checkpoints')
  for (const { checkpointId } of (await checkpoints?.list()) ?? []) {
    if (used.has(checkpointId)) continue
    await collection
      .remove(checkpointId, async () => checkpoints?.remove(checkpointId))
      .catch((error: unknown) => {
        // One that resists keeps nothing else from being removed.
        log.warn({ err: error, checkpoint_id: checkpointId }, 'a checkpoint that nobody needs could not be removed')
      })
  }
}

async function removeImages({ engine }: Service, { used, collection }: Unneeded): Promise<void> {
  const images = engine.ability('images')
  for (const { digest } of (await images?.list()) ?? []) {
    if (used.has(digest)) continue
    await collection
      .remove(digest, async () => images?.remove(digest))
      .catch((error: unknown) => {
        // A runtime that the database does not know is made of it.
        if (!isEngineError(error) || error.kind !== 'in_use') throw error
      })
  }
}
