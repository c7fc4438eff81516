import { CodeContextId, codeContextStates, codeStatuses, Language } from '@holt/protocol'
import { z } from 'zod'

/** The last moment of the year 9999, in milliseconds since 1970 UTC. */
const lastMomentMs = 253_402_300_799_999

const count = z.number().int().min(0)

/** The languages of a bridge. */
export const BridgeHealth = z.object({
  ready: z.boolean(),
  languages: z.array(z.object({ language: Language })).max(64),
})

/** A moment: milliseconds since 1970 UTC, from RFC 3339. */
const moment = z.iso
  .datetime({ offset: true })
  .transform((text) => Date.parse(text))
  .pipe(z.number().min(0).max(lastMomentMs))

/** A context, as the bridge describes it. */
export const BridgeContext = z.object({
  context_id: CodeContextId,
  language: Language,
  cwd: z.string().max(4096),
  state: z.enum(codeContextStates),
  execution_count: count.nullish(),
  created_at: moment,
})
export type BridgeContext = z.infer<typeof BridgeContext>

/** The contexts of a bridge. */
export const BridgeContexts = z.object({ contexts: z.array(BridgeContext).max(1000) })

/** An answer of which only the status counts. */
export const BridgeDone = z.unknown()

/** The maximum number of forms of one value. */
const maxForms = 64

const names = z.record(z.string().max(256), z.unknown())
const forms = names.refine((data) => Object.keys(data).length <= maxForms)

/** The item's own position is missing from items that no reader resumes after. */
const cursor = count.optional()

/** An item of a run that this service knows. */
const KnownItem = z.discriminatedUnion('type', [
  z.object({ type: z.literal('start'), cursor, run_id: z.string().max(64), context_id: CodeContextId }),
  z.object({ type: z.literal('queued'), cursor }),
  z.object({ type: z.enum(['stdout', 'stderr']), cursor, text: z.string() }),
  z.object({
    type: z.enum(['result', 'display', 'update_display']),
    cursor,
    data: forms,
    metadata: names.nullish(),
    main: z.boolean().optional(),
    display_id: z.string().max(256).nullish(),
  }),
  z.object({ type: z.literal('clear_output'), cursor, wait: z.boolean().optional() }),
  z.object({
    type: z.literal('error'),
    cursor,
    name: z.string(),
    value: z.string(),
    traceback: z.array(z.string()).max(10_000),
  }),
  z.object({ type: z.literal('dropped'), cursor, dropped_bytes: count.optional() }),
  z.object({
    type: z.literal('end'),
    cursor,
    status: z.enum(codeStatuses),
    execution_count: count.nullish(),
    truncated: z.boolean().nullish(),
    duration_ms: z.number().min(0).max(Number.MAX_SAFE_INTEGER).nullish(),
    state_lost: z.boolean().nullish(),
  }),
])

const knownTypes = new Set(
  KnownItem.options.flatMap(({ shape: { type } }) => ('options' in type ? type.options : type.value)),
)

/** An item of a newer bridge. The interpreter of a template may be newer than this service. */
const UnknownItem = z
  .object({ type: z.string().refine((type) => !(knownTypes as ReadonlySet<string>).has(type)), cursor })
  .transform((item) => ({ type: 'unknown' as const, cursor: item.cursor }))

/** An item of a run, as the bridge describes it. */
export const BridgeItem = z.union([KnownItem, UnknownItem])
export type BridgeItem = z.infer<typeof BridgeItem>
