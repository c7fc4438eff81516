import { createHash } from 'node:crypto'
import { Semaphore } from '@holt/async'
import type { ImageStore } from '@holt/engine'
import { writeTar } from '@holt/tar'
import type { BaseImages, PullOptions, ResolvedImage } from '../contract/build-contract.ts'
import { layLayers } from '../image/flatten-image.ts'
import { defaultLimits, type ImageLimits } from '../image/image-limits.ts'
import { defaultWorkDir } from '../scratch/make-scratch.ts'
import { buildSettingsOf } from './build-settings.ts'
import { copyImage } from './copy-image.ts'
import type { Login } from './credentials.ts'
import { explain } from './explain.ts'
import { canonicalRegistry, type ImageAddress, imageAddressOf, pinnedName } from './image-address.ts'
import { ImageSource } from './image-source.ts'
import { pullProgress } from './pull-progress.ts'
import type { PulledFacts, PulledImageStore, RegistryNetwork, RegistrySettings } from './registry-contract.ts'
import { defaultRetryPolicy, type RetryPolicy } from './retry-policy.ts'
import { SharedWork } from './shared-work.ts'
import { requireAccepted } from './signature-policy.ts'

/** Options for pulling images. */
export interface BaseImagesOptions {
  readonly images: ImageStore
  readonly network: RegistryNetwork
  readonly settings: RegistrySettings
  readonly store: PulledImageStore
  /** The pulls of other builds. Default: none. */
  readonly underWay?: PullsUnderWay
  /**
   * The directory of compressed layers during a pull. It outlives the build, because several builds
   * may share a pull. Default: /var/tmp.
   */
  readonly workDir?: string
  readonly limits?: Partial<ImageLimits>
  readonly retryPolicy?: Partial<RetryPolicy>
}

/**
 * The current pulls of all builds of a service. An image that two builds need at the same time is
 * pulled once.
 */
export class PullsUnderWay extends SharedWork<PulledFacts> {
  /**
   * Limits header reading to one image at a time, because a hostile image may use all memory that
   * the limits allow for one.
   */
  readonly laying = new Semaphore(1)
}

/**
 * Makes images of the engine out of container images. The same image is pulled once, also if
 * several builds need it at the same time.
 */
export function makeBaseImages(options: BaseImagesOptions): BaseImages {
  const { settings, network, underWay = new PullsUnderWay() } = options
  const wire = { network, retryPolicy: { ...defaultRetryPolicy, ...options.retryPolicy } }
  const sourceOf = (address: ImageAddress, auth: PullOptions['auth']) =>
    new ImageSource(address, { wire, settings, login: loginFor(address, auth) })

  return {
    resolve: (reference, { auth, signal }) =>
      explained(reference, auth, signal, async () => {
        const address = imageAddressOf(reference)
        const digest = await sourceOf(address, auth).resolve(address.wanted, signal)
        return { reference, pinned: pinnedName(address, digest), digest }
      }),
    ensure: (image, { auth, onProgress, signal }) =>
      explained(image.reference, auth, signal, async () => {
        await requireAccepted(imageAddressOf(image.reference))
        const source = sourceOf(imageAddressOf(image.pinned), auth)
        return {
          ...image,
          ...(await ensured({ ...options, underWay }, { image, source, key: keyOf(image, auth), onProgress, signal })),
        }
      }),
  }
}

async function explained<Result>(
  reference: string,
  auth: PullOptions['auth'],
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    signal.throwIfAborted()
    throw explain(error, reference.slice(0, 300), auth !== null)
  }
}

/**
 * Returns the credentials for a registry, or null if they are for another one. Credentials without
 * a registry are for that of the image.
 */
function loginFor({ registry }: ImageAddress, auth: PullOptions['auth']): Login | null {
  if (auth === null || (auth.registry !== null && canonicalRegistry(auth.registry) !== registry)) return null
  return { username: auth.username, password: auth.password }
}

async function usable({ store, images }: BaseImagesOptions, { pinned }: ResolvedImage): Promise<PulledFacts | null> {
  const facts = await store.get(pinned)
  return facts !== null && (await images.has(facts.imageDigest)) ? facts : null
}

type Pulling = BaseImagesOptions & { readonly underWay: PullsUnderWay }

interface Pull {
  readonly image: ResolvedImage
  readonly source: ImageSource
  /** The key under which builds share the pull. */
  readonly key: string
  readonly onProgress: (message: string) => void
  readonly signal: AbortSignal
}

/**
 * Returns the key of a pull. Only builds with the same credentials share one, so that none fails
 * because of another build's rights.
 */
function keyOf({ pinned }: ResolvedImage, auth: PullOptions['auth']): string {
  return createHash('sha256')
    .update(JSON.stringify([pinned, auth]))
    .digest('hex')
}

/**
 * The maximum number of pulls of one image. Another build may delete the image before this build
 * holds a reference to it.
 */
const maxPulls = 3

async function ensured(options: Pulling, pull: Pull): Promise<PulledFacts> {
  const { pinned } = pull.image
  for (let attempt = 1; ; attempt++) {
    const known = await usable(options, pull.image)
    if (known !== null) return known
    if (attempt > maxPulls) throw new Error(`the image of ${pinned} vanished as soon as it was written`)
    const facts = await options.underWay.share(pull.key, pull, (shared) => pulled(options, { ...pull, ...shared }))
    // Each build records it in its own store, also if another build did the pull.
    await options.store.put(pinned, facts)
  }
}

async function pulled(options: Pulling, { image, source, onProgress, signal }: Pull): Promise<PulledFacts> {
  const limits = { ...defaultLimits, ...options.limits }
  const { workDir = defaultWorkDir, images } = options
  const progress = pullProgress(onProgress)
  await using copied = await copyImage(source, image.digest, {
    reference: image.reference,
    limits,
    workDir,
    onBytes: progress.pulled,
    signal,
  })
  return await options.underWay.laying.run(async () => {
    const laid = await layLayers(copied.layers, { limits, onLayer: progress.read, signal })
    const settings = buildSettingsOf(copied.config)
    const written = await images.import(writeTar(laid.entries(settings.workdir)), signal)
    return { imageDigest: written.digest, sizeBytes: written.sizeBytes, settings }
  }, signal)
}
