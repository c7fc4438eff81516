import type { Engine } from '@holt/engine'
import type { AgentTemplates } from './agents/agent-templates.ts'
import type { AuditLog } from './audit/audit-log.ts'
import type { LikelyProjects } from './auth/likely-projects.ts'
import type { OpenStreams } from './auth/open-streams.ts'
import type { RecentKeys } from './auth/recent-keys.ts'
import type { Builds } from './builds/builds.ts'
import type { ServerConfig } from './config/config.ts'
import type { EventNews } from './events/event-news.ts'
import type { ChildTurns } from './forks/child-turns.ts'
import type { ForkCheckpoints } from './forks/fork-checkpoints.ts'
import type { ConnectionLimits } from './http/connection-limits.ts'
import type { OAuthTokens } from './identity/oauth-tokens.ts'
import type { SigningKeys } from './identity/signing-keys.ts'
import type { WorkloadTokens } from './identity/workload-tokens.ts'
import type { HostClock } from './lifecycle/host-clock.ts'
import type { Transitions } from './lifecycle/transitions.ts'
import type { RequestRates } from './limits/request-rates.ts'
import type { RuntimeLinks } from './links/runtime-links.ts'
import type { Metrics } from './metrics/metrics.ts'
import type { DecisionLog } from './network/decision-log.ts'
import type { RuntimeNetworks } from './network/runtime-networks.ts'
import type { Pools } from './pools/pools.ts'
import type { OpenPorts } from './ports/open-ports.ts'
import type { PortAddresses } from './ports/port-addresses.ts'
import type { ProjectQuotas } from './projects/project-quotas.ts'
import type { RestoresUnderWay } from './runtimes/restores-under-way.ts'
import type { StartsUnderWay } from './runtimes/starts-under-way.ts'
import type { MasterKeys } from './sealing/master-keys.ts'
import type { Store } from './store/open-store.ts'
import type { Tracer } from './telemetry/tracer.ts'
import type { TemplateProgress } from './templates/template-progress.ts'
import type { UsageWatch } from './usage/usage-watch.ts'
import type { Webhooks } from './webhooks/webhooks.ts'

/** A log for operators, in pino's shape. */
export interface Log {
  debug(facts: object, message: string): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}

/** The parts that the verbs of the service share. They are made once at start. */
export interface Service {
  readonly config: ServerConfig
  readonly engine: Engine
  readonly store: Store
  readonly log: Log
  /** Returns milliseconds since 1970 UTC. */
  readonly now: () => number
  /** Returns milliseconds of a clock that is never set. Its start is arbitrary. */
  readonly monotonic: () => number
  readonly hostClock: HostClock
  /** Returns the memory that the host can give now, or null if unknown. */
  readonly freeMemoryMiB: () => Promise<number | null>
  /** The limits of client connections and of their data. */
  readonly limits: ConnectionLimits
  readonly recentKeys: RecentKeys
  readonly likelyProjects: LikelyProjects
  readonly streams: OpenStreams
  readonly rates: RequestRates
  readonly projects: ProjectQuotas
  readonly ports: OpenPorts
  readonly addresses: PortAddresses
  /** The secret that signs the tokens of ports. */
  readonly portSecret: Buffer
  readonly starts: StartsUnderWay
  readonly restores: RestoresUnderWay
  readonly forkCheckpoints: ForkCheckpoints
  readonly childTurns: ChildTurns
  readonly pools: Pools
  readonly metrics: Metrics
  readonly usage: UsageWatch
  readonly tracer: Tracer
  readonly transitions: Transitions
  readonly links: RuntimeLinks
  readonly templateProgress: TemplateProgress
  readonly masterKeys: MasterKeys
  readonly networks: RuntimeNetworks
  readonly decisions: DecisionLog
  readonly eventNews: EventNews
  readonly webhooks: Webhooks
  readonly audit: AuditLog
  readonly builds: Builds
  readonly agents: AgentTemplates
  readonly signingKeys: SigningKeys
  readonly oauthTokens: OAuthTokens
  readonly workloadTokens: WorkloadTokens
  /** Returns the issuer of tokens: the address at which verifiers find this service. */
  readonly issuer: () => string
  /** Aborted when the service closes. */
  readonly closing: AbortSignal
}
