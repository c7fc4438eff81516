import type { Engine } from '@holt/engine'
import type { OpenStreams } from './auth/open-streams.ts'
import type { RecentKeys } from './auth/recent-keys.ts'
import type { ServerConfig } from './config/config.ts'
import type { StartsUnderWay } from './runtimes/starts-under-way.ts'
import type { Store } from './store/open-store.ts'
import type { TemplateProgress } from './templates/template-progress.ts'

/** Where the service writes what operators should know; pino's shape. */
export interface Log {
  debug(facts: object, message: string): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}

/** Everything that verbs of the service need, made once at start. */
export interface Service {
  readonly config: ServerConfig
  readonly engine: Engine
  readonly store: Store
  readonly log: Log
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number
  /** Memory that the host could give away now; null where it is not known. */
  readonly freeMemoryMiB: () => Promise<number | null>
  readonly recentKeys: RecentKeys
  readonly streams: OpenStreams
  readonly starts: StartsUnderWay
  readonly templateProgress: TemplateProgress
  /** Ends when the service closes. */
  readonly closing: AbortSignal
}
