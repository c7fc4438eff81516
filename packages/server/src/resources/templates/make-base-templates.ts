import { createHash } from 'node:crypto'
import { BuilderError } from '@holt/builder'
import type { ImageDigest, ImageStore } from '@holt/engine'
import { HoltError } from '@holt/protocol'
import { artifactMissing, fetchFiles, storeFiles } from '../../artifacts/artifacts.ts'
import { isEngineError } from '../../foundation/errors/engine-errors.ts'
import type { TemplateRow } from '../../foundation/store/tables.ts'
import type { Resources } from '../resources.ts'
import type { BaseSource } from './base-source.ts'
import { removeSeed } from './remove-seed.ts'
import { ensureSystemTemplates, readSystemTemplates, updateTemplate } from './template-rows.ts'

/** The shares of the work: the tree and its image. They were measured with a tree from packages. */
const shares = { tree: 820, image: 180, total: 1000 }

/** The approximate bytes of a base tree, for the progress of its image. */
const usualTreeBytes = 900e6

/** The holder of the image until the templates refer to it. */
const holder = 'base templates'

/** The source of the templates, and their project. */
export interface BaseWork {
  readonly projectId: string
  readonly source: BaseSource
}

/**
 * Makes the system templates if necessary: one image from the source for all sizes. The image is
 * only made again if the source or the image format has changed. Runtimes use the old one until the
 * new one is ready. After a crash, this begins again from the rows. Returns true if the templates
 * are made. If not, the log and the rows of the other templates have the reason.
 */
export async function makeBaseTemplates(service: Resources, { projectId, source }: BaseWork): Promise<boolean> {
  const { log, engine } = service
  const images = engine.ability('images')
  if (images === null) throw new Error('this engine keeps no images')
  let rows = await ensureSystemTemplates(service, { projectId, source: source.name })
  try {
    rows = await Promise.all(rows.map((row) => beginAnew(service, row, images)))
    const recipeDigest = await digestOf(source, images)
    const made = await ensureImage(service, { rows, source, recipeDigest, images })
    await storeFiles(service.artifacts, { imageDigest: made.image_digest ?? '', checkpointId: null }, service.closing)
    for (const row of rows) await makeReady(service, { row, made })
    return true
  } catch (error) {
    if (service.closing.aborted) return false
    log.error({ err: error }, 'the base templates could not be made')
    await markFailed(service, projectId, error)
    return false
  } finally {
    for (const row of rows) service.templateProgress.clear(row.template_id)
    service.holds.release(holder)
    await service.collector.run()
  }
}

/**
 * Removes the unfinished work of an earlier process. A failed template is tried again. A template
 * whose image is missing, for example after an import of rows alone, is not ready.
 */
async function beginAnew(service: Resources, row: TemplateRow, images: ImageStore): Promise<TemplateRow> {
  const cleared = await removeSeed(service, row)
  const isLost = cleared.image_digest !== null && !(await isHere(service, images, cleared.image_digest))
  return cleared.state === 'failed' || isLost
    ? updateTemplate(service, cleared, { state: 'building', state_reason_json: null })
    : cleared
}

/**
 * Returns true if an image is on this machine, also if it came from another host just now. Throws
 * if the object store is away, because its image is not made a second time.
 */
async function isHere({ artifacts, closing }: Resources, images: ImageStore, imageDigest: string): Promise<boolean> {
  if (await images.has(imageDigest as ImageDigest)) return true
  if (!artifacts.isShared) return false
  try {
    await fetchFiles(artifacts, { imageDigest, checkpointId: null }, closing)
    return true
  } catch (error) {
    if (error instanceof HoltError && error.details?.reason === artifactMissing) return false
    throw error
  }
}

/** The columns that all sizes share. */
type SharedImage = Required<
  Pick<
    TemplateRow,
    'recipe_digest' | 'image_digest' | 'size_bytes' | 'env_json' | 'user' | 'workdir' | 'facts_json' | 'source'
  >
>

interface ImageWork {
  readonly rows: readonly TemplateRow[]
  readonly source: BaseSource
  readonly recipeDigest: string
  readonly images: ImageStore
}

async function ensureImage(
  service: Resources,
  { rows, source, recipeDigest, images }: ImageWork,
): Promise<SharedImage> {
  for (const row of rows) {
    if (
      row.recipe_digest === recipeDigest &&
      row.image_digest !== null &&
      (await isHere(service, images, row.image_digest))
    )
      return row
  }
  const say = (phase: string, done: number) => tell(service, rows, { phase, done })
  say('preparing', 0)
  service.log.info({ source: source.name }, 'making the base image')
  await using tree = await source.make({
    onProgress: ({ phase, done, total }) => say(phase, (done / Math.max(1, total)) * shares.tree),
    signal: service.closing,
  })
  const tar = counted(tree.tar, (bytes) =>
    say('writing the image', shares.tree + Math.min(1, bytes / usualTreeBytes) * shares.image),
  )
  const beforePublish = (digest: ImageDigest) => service.holds.beforePublish(holder, digest)
  const image = await images.import(tar, service.closing, { beforePublish })
  return {
    source: tree.origin,
    recipe_digest: recipeDigest,
    image_digest: image.digest,
    size_bytes: image.sizeBytes,
    env_json: JSON.stringify(tree.env),
    user: tree.user,
    workdir: tree.workdir,
    facts_json: JSON.stringify(tree.facts),
  }
}

/** Returns the digest that determines the image. */
async function digestOf(source: BaseSource, images: ImageStore): Promise<string> {
  return createHash('sha256')
    .update(`${await source.digest()}\0${images.format}`)
    .digest('hex')
}

/** Records the progress of these templates. */
function tell(
  { templateProgress }: Resources,
  rows: readonly TemplateRow[],
  { phase, done }: { phase: string; done: number },
): void {
  for (const { template_id } of rows)
    templateProgress.set(template_id, { phase, done: Math.floor(Math.min(done, shares.total)), total: shares.total })
}

/** Passes chunks on and reports the number of bytes, once per 8 MiB. */
async function* counted(chunks: AsyncIterable<Uint8Array>, tell: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  let bytes = 0
  let told = 0
  for await (const chunk of chunks) {
    yield chunk
    bytes += chunk.length
    if (bytes - told < 8 * 2 ** 20) continue
    told = bytes
    tell(bytes)
  }
}

/** Gives one size its image. */
async function makeReady(
  service: Resources,
  { row, made }: { readonly row: TemplateRow; readonly made: SharedImage },
): Promise<void> {
  const { source, recipe_digest, image_digest, size_bytes, env_json, user, workdir, facts_json } = made
  if (row.state === 'ready' && row.image_digest === image_digest && row.recipe_digest === recipe_digest) return
  const shared = { source, recipe_digest, image_digest, size_bytes, env_json, user, workdir, facts_json }
  // A checkpoint of an earlier version of Holt does not fit the new image.
  await updateTemplate(service, row, { ...shared, checkpoint_id: null, state: 'ready', state_reason_json: null })
  service.templateProgress.clear(row.template_id)
  service.log.info({ template: row.name }, 'a template is ready')
}

/** Marks the templates that are not ready as failed, with the reason. Ready ones stay unchanged. */
async function markFailed(service: Resources, projectId: string, error: unknown): Promise<void> {
  const message = reasonOf(error)
  for (const row of await readSystemTemplates(service, projectId)) {
    if (row.state === 'ready') continue
    await updateTemplate(service, row, {
      state: 'failed',
      state_reason_json: JSON.stringify({ code: 'build_failed', message: message.slice(0, 2000) }),
    })
  }
}

/** Returns the reason of a failure, for people without access to the log. */
function reasonOf(error: unknown): string {
  if (error instanceof BuilderError) return error.message
  if (isEngineError(error) && error.kind === 'no_space') return 'The disk of the service is full.'
  return 'The reason is in the log of the service.'
}
