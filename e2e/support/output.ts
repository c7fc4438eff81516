import { createInterface } from 'node:readline'
import { OutputItem } from '@holt/protocol'
import { expect } from 'vitest'
import { type CallOptions, wireRequest } from './api.ts'
import { service } from './facts.ts'
import { open } from './http.ts'
import type { TestRuntime } from './test-runtime.ts'

/**
 * Opens a stream of a runtime's command and answers its items as they come, whether sent as NDJSON
 * or as Server-Sent Events.
 */
export async function* follow(
  runtime: TestRuntime,
  method: string,
  path: string,
  options: CallOptions = {},
): AsyncGenerator<OutputItem, void, undefined> {
  const message = await open(service.url, wireRequest(method, runtime.path + path, options))
  try {
    expect(message.statusCode).toBe(200)
    const events = message.headers['content-type']?.startsWith('text/event-stream') ?? false
    expect(events).toBe(options.headers?.accept === 'text/event-stream')
    let id: string | null = null
    for await (const line of createInterface({ input: message, crlfDelay: Number.POSITIVE_INFINITY })) {
      if (!events && line !== '') yield OutputItem.parse(JSON.parse(line))
      if (line.startsWith('id:')) id = line.slice(3).trim()
      if (!line.startsWith('data:')) continue
      const item = OutputItem.parse(JSON.parse(line.slice(5)))
      expect(id).toBe(String(item.cursor))
      yield item
    }
  } finally {
    message.destroy()
  }
}

/** Reads a stream to its end. */
export async function collect(
  runtime: TestRuntime,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<OutputItem[]> {
  return Array.fromAsync(follow(runtime, method, path, options))
}

/** The bytes that the items of one stream carry. */
export function bytesOf(items: readonly OutputItem[], type: 'stdout' | 'stderr'): Buffer {
  return Buffer.concat(
    items.flatMap((item) =>
      item.type === type && 'data' in item
        ? [Buffer.from(item.data, item.encoding === 'base64' ? 'base64' : 'utf8')]
        : [],
    ),
  )
}
