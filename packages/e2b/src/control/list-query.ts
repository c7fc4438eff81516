import { z } from 'zod'
import { logLevels } from './log-levels.ts'

const states = ['running', 'paused'] as const

/** A state of a sandbox in lists. */
export type SandboxState = (typeof states)[number]

/** Splits texts that are joined by commas, which clients send raw or encoded. */
const commaJoined = z.string().transform((text) => text.split(',').filter((part) => part !== ''))

const metadata = z.string().transform((text, context): Readonly<Record<string, string>> => {
  const filter = decodeMetadata(text)
  if (filter !== null) return filter
  context.addIssue({ code: 'custom', message: 'is not percent-encoded UTF-8' })
  return z.NEVER
})

const limit = z.coerce.number().int().min(1).max(100).default(100)

/** The query of the list of sandboxes. */
export const ListSandboxes = z.object({
  metadata: metadata.optional(),
  state: commaJoined.pipe(z.array(z.enum(states))).optional(),
  order: z.enum(['asc', 'desc']).default('desc'),
  startedAfter: z.iso.datetime({ offset: true }).optional(),
  template: z.string().max(200).optional(),
  limit,
  nextToken: z.string().max(200).optional(),
})
export type ListSandboxes = z.output<typeof ListSandboxes>

/** The query of the list of old clients, which has all running sandboxes on one page. */
export const ListSandboxesV1 = z.object({ metadata: metadata.optional() })

/** The query of the list of snapshots. */
export const ListSnapshots = z.object({
  sandboxID: z.string().max(100).optional(),
  name: z.string().max(200).optional(),
  limit,
  nextToken: z.string().max(200).optional(),
})

const seconds = z.coerce.number().int().min(0).max(1e12)

/** The query of a sandbox's metrics, in seconds since 1970 UTC. */
export const MetricsQuery = z.object({ start: seconds.optional(), end: seconds.optional() })

/** The query of the present metrics of several sandboxes. */
export const MetricsOfQuery = z.object({ sandbox_ids: commaJoined.pipe(z.array(z.string()).max(100)) })

/** The query of a sandbox's log. Times are milliseconds since 1970 UTC. */
export const LogsQuery = z.object({
  start: z.coerce.number().int().min(0).optional(),
  cursor: z.coerce.number().int().min(0).optional(),
  limit: z.coerce.number().int().min(0).max(1000).default(1000),
  direction: z.enum(['forward', 'backward']).default('forward'),
  level: z.enum(logLevels).optional(),
  search: z.string().max(1000).optional(),
})
export type LogsQuery = z.output<typeof LogsQuery>

/**
 * Returns the metadata of a filter. Clients encode it three times: each key and value, the pairs as
 * a form, and the form as a query. The query is decoded already. Returns null if it is damaged.
 */
export function decodeMetadata(form: string): Readonly<Record<string, string>> | null {
  try {
    const pairs = [...new URLSearchParams(form)].map(([key, value]) => [
      decodeURIComponent(key),
      decodeURIComponent(value),
    ])
    return Object.fromEntries(pairs)
  } catch {
    return null
  }
}

/** Reads a query. Only the first value of a repeated field counts. */
export function readQuery(query: string): Readonly<Record<string, string>> {
  const values = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(query)) if (!values.has(name)) values.set(name, value)
  return Object.fromEntries(values)
}
