import type { Readable } from 'node:stream'

/** An answer of a fake route: JSON, or a stream. */
export type FakeAnswer = {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly json?: unknown
  readonly stream?: Readable
}
