import type { Forecast } from '@holt/placement'
import { z } from 'zod'
import type { PoolShape } from '../../runtimes/pools/pool-shape.ts'

const Id = z.string().max(128)
const Isolation = z.enum(['gvisor', 'container'])
const Size = z
  .number()
  .min(0)
  .max(2 ** 40)

const Shape = z.object({
  templateId: Id,
  isolation: Isolation,
  imageDigest: Id,
  checkpointId: Id.nullable(),
  startsLike: Id.nullable(),
  cpu: Size,
  memoryMiB: Size,
  diskMiB: Size,
})

/** The needs of a runtime, with which hosts ask each other for offers. */
export const Need = z.object({
  projectId: Id,
  isolation: Isolation,
  /** The digest of the image. Null: it is not made yet. */
  image: Id.nullable(),
  /** The checkpoint that the runtime is restored from. Null: it boots. */
  checkpoint: Id.nullable(),
  /** True if it cannot boot instead. */
  restoreOnly: z.boolean(),
  /** The class of hosts that restore the checkpoint. Null: any, or it is unknown. */
  classId: Id.nullable(),
  memoryMiB: Size,
  diskMiB: Size,
  /** The bytes of image and checkpoint, as far as they are known. */
  bytes: z.object({ image: Size, checkpoint: Size }),
  /** The label of runtimes that are kept apart. Null: none. */
  spread: z.string().max(64).nullable(),
  /** The shape of the members of pools that serve it. Null: none does. */
  shape: Shape.nullable(),
})
export type Need = Omit<z.infer<typeof Need>, 'shape'> & { readonly shape: PoolShape | null }

/**
 * The reason why a host cannot run a runtime. `state`: it takes no new ones. `unsupported`: never,
 * for its size or class. `missing`: it lacks the image or checkpoint, and cannot fetch it. `full`:
 * not now.
 */
const cannotReasons = ['state', 'unsupported', 'missing', 'full'] as const
export type Cannot = (typeof cannotReasons)[number]

/** The answer of a host to another one that asks for an offer. */
export const OfferAnswer = z.object({
  forecast: z.object({ totalMs: z.number().min(0), queueMs: z.number().min(0) }).nullable(),
  cannot: z.enum(cannotReasons).nullable(),
  createsUnderWay: z.number().min(0),
})
export interface OfferAnswer {
  /** Null if the host cannot run it. `cannot` has the reason. */
  readonly forecast: Forecast | null
  readonly cannot: Cannot | null
  readonly createsUnderWay: number
}

/** The path of the request for an offer. */
export const offerPath = '/peer/offer'
