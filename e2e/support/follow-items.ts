import { createInterface } from 'node:readline'
import { expect } from 'vitest'
import type { z } from 'zod'
import { type CallOptions, wireRequest } from './api.ts'
import { service } from './facts.ts'
import { open } from './http.ts'
import type { TestRuntime } from './test-runtime.ts'

/** Long enough for a stream that a whole test reads. */
const STREAM_TIMEOUT_MS = 10 * 60_000

/**
 * Opens a stream below a runtime, as NDJSON, and answers its items as they come, each held against
 * its schema.
 */
export async function* followItems<Item>(
  runtime: TestRuntime,
  { path, item: schema, options = {} }: { path: string; item: z.ZodType<Item>; options?: CallOptions },
): AsyncGenerator<Item, void, undefined> {
  const request = wireRequest('GET', runtime.path + path, { timeoutMs: STREAM_TIMEOUT_MS, ...options })
  const message = await open(service.url, request)
  try {
    expect(message.statusCode).toBe(200)
    for await (const line of createInterface({ input: message, crlfDelay: Number.POSITIVE_INFINITY }))
      if (line !== '') yield schema.parse(JSON.parse(line))
  } finally {
    message.destroy()
  }
}
