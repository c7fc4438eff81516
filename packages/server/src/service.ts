import type { Engine } from '@holt/engine'
import type { Builds } from './builds/builds.ts'
import type { ServerConfig } from './foundation/config/config.ts'
import type { ConnectionLimits } from './foundation/config/connection-limits.ts'
import type { Collector } from './foundation/images/collector.ts'
import type { Holds } from './foundation/images/holds.ts'
import type { Log } from './foundation/log.ts'
import type { Metrics } from './foundation/metrics/metrics.ts'
import type { MasterKeys } from './foundation/sealing/master-keys.ts'
import type { Store } from './foundation/store/open-store.ts'
import type { HostClock } from './foundation/time/host-clock.ts'
import type { Tracer } from './foundation/tracing/tracer.ts'
import type { OpenPorts } from './inside/ports/open-ports.ts'
import type { PortAddresses } from './inside/ports/port-addresses.ts'
import type { AgentTemplates } from './resources/agents/agent-templates.ts'
import type { OAuthTokens } from './resources/identity/oauth-tokens.ts'
import type { SigningKeys } from './resources/identity/signing-keys.ts'
import type { WorkloadTokens } from './resources/identity/workload-tokens.ts'
import type { DecisionLog } from './resources/network/decision-log.ts'
import type { RuntimeNetworks } from './resources/network/runtime-networks.ts'
import type { TemplateProgress } from './resources/templates/template-progress.ts'
import type { RestoresUnderWay } from './runtimes/create/restores-under-way.ts'
import type { StartsUnderWay } from './runtimes/create/starts-under-way.ts'
import type { ChildTurns } from './runtimes/forks/child-turns.ts'
import type { ForkCheckpoints } from './runtimes/forks/fork-checkpoints.ts'
import type { Transitions } from './runtimes/lifecycle/transitions.ts'
import type { RuntimeLinks } from './runtimes/links/runtime-links.ts'
import type { Pools } from './runtimes/pools/pools.ts'
import type { UsageWatch } from './runtimes/usage/usage-watch.ts'
import type { AuditLog } from './tenancy/audit/audit-log.ts'
import type { LikelyProjects } from './tenancy/auth/likely-projects.ts'
import type { OpenStreams } from './tenancy/auth/open-streams.ts'
import type { RecentKeys } from './tenancy/auth/recent-keys.ts'
import type { EventNews } from './tenancy/events/event-news.ts'
import type { RequestRates } from './tenancy/limits/request-rates.ts'
import type { ProjectQuotas } from './tenancy/projects/project-quotas.ts'
import type { Webhooks } from './tenancy/webhooks/webhooks.ts'

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
  /** Keeps images and checkpoints that no row refers to. */
  readonly holds: Holds
  readonly collector: Collector
  readonly agents: AgentTemplates
  readonly signingKeys: SigningKeys
  readonly oauthTokens: OAuthTokens
  readonly workloadTokens: WorkloadTokens
  /** Returns the issuer of tokens: the address at which verifiers find this service. */
  readonly issuer: () => string
  /** Aborted when the service closes. */
  readonly closing: AbortSignal
}
