import type { Fork as ForkData } from '@holt/protocol'
import { errorOfBody, type HoltApiError, HoltError } from './errors.ts'
import type { Runtime } from './runtime.ts'

/** What became of one child: a runtime, or why there is none. */
export type ForkResult =
  | { readonly runtime: Runtime; readonly error: null }
  | { readonly runtime: null; readonly error: HoltApiError }

/** The children of a fork. Disposing of it (`await using`) deletes those that run. */
export class Fork implements AsyncDisposable {
  /** One for each child that was asked for. */
  readonly results: readonly ForkResult[]
  constructor(results: readonly ForkResult[]) {
    this.results = results
  }

  /** The children that run. */
  get runtimes(): Runtime[] {
    return this.results.flatMap(({ runtime }) => runtime ?? [])
  }

  /** Why the others do not. */
  get errors(): HoltApiError[] {
    return this.results.flatMap(({ error }) => error ?? [])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = await Promise.allSettled(this.runtimes.map((runtime) => runtime.delete()))
    const failures = ended.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    if (failures.length === 0) return
    const [first] = failures
    const { code, hint } = first instanceof HoltError ? first : { code: 'internal' as const, hint: undefined }
    const cause = new AggregateError(failures)
    throw new HoltError(code, `${failures.length} children could not be deleted`, { hint, cause })
  }

  /** The API's own object. */
  toJSON(): ForkData {
    const data = this.results.map(({ runtime, error }) =>
      runtime === null
        ? { runtime: null, error: { code: error.wireCode, message: error.wireMessage, hint: error.wireHint } }
        : { runtime: runtime.toJSON(), error: null },
    )
    return { data }
  }
}

/** Makes the children's handles and errors of what the service said. */
export function makeFork({ data }: ForkData, makeRuntime: (data: ForkedData) => Runtime): Fork {
  return new Fork(
    data.map(({ runtime, error }) =>
      runtime === null ? { runtime: null, error: errorOfBody(error) } : { runtime: makeRuntime(runtime), error: null },
    ),
  )
}

type ForkedData = NonNullable<ForkData['data'][number]['runtime']>
