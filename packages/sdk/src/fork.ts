import type { Fork as ForkData } from '@holt/protocol'
import { errorOfBody, type HoltApiError, HoltError } from './errors/errors.ts'
import type { Runtime } from './runtime.ts'

/** The outcome of one child: a runtime, or the error. */
export type ForkResult =
  | { readonly runtime: Runtime; readonly error: null }
  | { readonly runtime: null; readonly error: HoltApiError }

/** The children of a fork. Disposing of it (`await using`) deletes those that run. */
export class Fork implements AsyncDisposable {
  /** One result for each requested child. */
  readonly results: readonly ForkResult[]
  constructor(results: readonly ForkResult[]) {
    this.results = results
  }

  /** The children that run. */
  get runtimes(): Runtime[] {
    return this.results.flatMap(({ runtime }) => runtime ?? [])
  }

  /** The errors of the other children. */
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

  /** Returns the API's own object. */
  toJSON(): ForkData {
    const data = this.results.map(({ runtime, error }) =>
      runtime === null
        ? { runtime: null, error: { code: error.wireCode, message: error.wireMessage, hint: error.wireHint } }
        : { runtime: runtime.toJSON(), error: null },
    )
    return { data }
  }
}

/** Returns the children's handles and errors from the service's answer. */
export function makeFork({ data }: ForkData, makeRuntime: (data: ForkedData) => Runtime): Fork {
  return new Fork(
    data.map(({ runtime, error }) =>
      runtime === null ? { runtime: null, error: errorOfBody(error) } : { runtime: makeRuntime(runtime), error: null },
    ),
  )
}

type ForkedData = NonNullable<ForkData['data'][number]['runtime']>
