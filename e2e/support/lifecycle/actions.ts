import fc from 'fast-check'

/**
 * The actions of a client on a runtime. Numbers choose among the existing things. An action with
 * nothing to choose from is left out.
 */
export type UseAction = { readonly runtime: number } & (
  | { readonly type: 'append'; readonly file: number; readonly seed: number }
  | { readonly type: 'remove'; readonly file: number }
  | { readonly type: 'startKeeper' | 'startTicker' | 'startTimer' | 'finishUpload' }
  | { readonly type: 'feedKeeper'; readonly keeper: number; readonly number: number }
  | { readonly type: 'uploadPart'; readonly seed: number; readonly bytes: number }
  | { readonly type: 'useSession'; readonly number: number }
)

/**
 * An action on a runtime. The daemon may be killed during it, and a command may run during it
 * (`busy`).
 */
type LifecycleAction = { readonly runtime: number; readonly cutMs: Cut } & (
  | { readonly type: 'write'; readonly file: number; readonly seed: number; readonly bytes: number }
  | { readonly type: 'pause'; readonly busy: boolean }
  | { readonly type: 'resume' }
  | { readonly type: 'deleteRuntime' }
  | { readonly type: 'snapshot'; readonly kind: 'memory' | 'filesystem'; readonly busy: boolean }
  | { readonly type: 'fork'; readonly count: number; readonly busy: boolean }
)

/** Something that is done to a runtime, a snapshot or the daemon. */
export type Action =
  | UseAction
  | LifecycleAction
  /** Of the default template where `snapshot` is null, which is what pools have. */
  | { readonly type: 'create'; readonly snapshot: number | null; readonly cutMs: Cut }
  | { readonly type: 'deleteSnapshot'; readonly snapshot: number }
  | { readonly type: 'check'; readonly runtime: number }
  | { readonly type: 'crash' }

/** How long after its request was sent the daemon is killed; null: it is not. */
export type Cut = number | null

const which = fc.nat(7)
const seed = fc.nat(1e6)
const bytes = fc.constantFrom(0, 1, 1000, 70_000, 1_500_000)
const busy = fc.boolean()
const number = fc.nat(1000)
const cutMs: fc.Arbitrary<Cut> = fc.oneof(
  { weight: 5, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 400 }) },
)

const on = <Type extends string, Fields>(type: Type, fields: { [Key in keyof Fields]: fc.Arbitrary<Fields[Key]> }) =>
  fc.record({ type: fc.constant(type), runtime: which, ...fields }) as unknown as fc.Arbitrary<
    { readonly type: Type; readonly runtime: number } & Fields
  >

/** Any action; what the others need to mean something comes the most often. */
export const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: on('write', { file: which, seed, bytes, cutMs }) },
  { weight: 2, arbitrary: on('append', { file: which, seed }) },
  { weight: 1, arbitrary: on('remove', { file: which }) },
  { weight: 3, arbitrary: on('startKeeper', {}) },
  { weight: 2, arbitrary: on('startTicker', {}) },
  { weight: 2, arbitrary: on('startTimer', {}) },
  { weight: 4, arbitrary: on('feedKeeper', { keeper: which, number }) },
  { weight: 3, arbitrary: on('uploadPart', { seed, bytes }) },
  { weight: 1, arbitrary: on('finishUpload', {}) },
  { weight: 2, arbitrary: on('useSession', { number }) },
  { weight: 6, arbitrary: on('pause', { busy, cutMs }) },
  { weight: 3, arbitrary: on('resume', { cutMs }) },
  { weight: 4, arbitrary: on('snapshot', { kind: fc.constantFrom('memory', 'memory', 'filesystem'), busy, cutMs }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('create'), snapshot: which, cutMs }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('create'), snapshot: fc.constant(null), cutMs }) },
  { weight: 4, arbitrary: on('fork', { count: fc.integer({ min: 1, max: 2 }), busy, cutMs }) },
  { weight: 2, arbitrary: on('deleteRuntime', { cutMs }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('deleteSnapshot'), snapshot: which }) },
  { weight: 3, arbitrary: on('check', {}) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('crash') }) },
) as fc.Arbitrary<Action>
