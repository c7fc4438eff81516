import type { AddressInfo } from 'node:net'
import { runBuild } from '@holt/builder'
import type { Engine } from '@holt/engine'
import { handlers } from '../api/handlers/handlers.ts'
import { createApp } from '../api/http/create-app.ts'
import { registerGauges } from '../api/metrics/register-gauges.ts'
import { observeEngine } from '../api/telemetry/observed-engine.ts'
import { observeStore } from '../api/telemetry/observed-store.ts'
import { makeBuildSources } from '../builds/build-sources.ts'
import type { Builder } from '../builds/builder.ts'
import { Builds } from '../builds/builds.ts'
import { collect } from '../builds/collect.ts'
import { clearResidue, failInterrupted } from '../builds/recover-builds.ts'
import type { ServerConfig } from '../foundation/config/config.ts'
import { type ConnectionLimits, limitsFor, openFilesLimit } from '../foundation/config/connection-limits.ts'
import { readCredentials, writeCredentials } from '../foundation/config/credentials.ts'
import { Collector } from '../foundation/images/collector.ts'
import { Holds } from '../foundation/images/holds.ts'
import type { Log } from '../foundation/log.ts'
import { Metrics } from '../foundation/metrics/metrics.ts'
import { recordsPurpose } from '../foundation/rows/kept-answers.ts'
import { systemProjectId } from '../foundation/rows/system-project.ts'
import { type MasterKeys, openMasterKeys } from '../foundation/sealing/master-keys.ts'
import type { Store } from '../foundation/store/open-store.ts'
import { type HostClock, openHostClock } from '../foundation/time/host-clock.ts'
import { noTracer, type Tracer } from '../foundation/tracing/tracer.ts'
import { OpenPorts, type PortLimits } from '../inside/ports/open-ports.ts'
import { PortAddresses } from '../inside/ports/port-addresses.ts'
import { openPortSecret } from '../inside/ports/port-token.ts'
import type { AgentTemplate } from '../resources/agents/agent-template.ts'
import { AgentTemplates } from '../resources/agents/agent-templates.ts'
import { ensureAgentTemplates } from '../resources/agents/ensure-agent-templates.ts'
import { OAuthTokens } from '../resources/identity/oauth-tokens.ts'
import { SigningKeys } from '../resources/identity/signing-keys.ts'
import { WorkloadTokens } from '../resources/identity/workload-tokens.ts'
import { AddressBook } from '../resources/network/address-book.ts'
import { DecisionLog } from '../resources/network/decision-log.ts'
import { type Outside, openOutside } from '../resources/network/open-outside.ts'
import { RuntimeNetworks } from '../resources/network/runtime-networks.ts'
import { finishRotation } from '../resources/secrets/rotate-master-key.ts'
import type { BaseSource } from '../resources/templates/base-source.ts'
import { Fallbacks } from '../resources/templates/fallbacks.ts'
import { keepBaseTemplates } from '../resources/templates/keep-base-templates.ts'
import { TemplateProgress } from '../resources/templates/template-progress.ts'
import { RestoresUnderWay } from '../runtimes/create/restores-under-way.ts'
import { StartsUnderWay } from '../runtimes/create/starts-under-way.ts'
import { ChildTurns } from '../runtimes/forks/child-turns.ts'
import { ForkCheckpoints } from '../runtimes/forks/fork-checkpoints.ts'
import { ClockWatch } from '../runtimes/lifecycle/clock-watch.ts'
import { Transitions } from '../runtimes/lifecycle/transitions.ts'
import { RuntimeLinks } from '../runtimes/links/runtime-links.ts'
import { Pools } from '../runtimes/pools/pools.ts'
import { followEngine } from '../runtimes/reconcile/follow-engine.ts'
import { markMissing } from '../runtimes/reconcile/mark-missing.ts'
import { failUnwritten } from '../runtimes/snapshots/recover-snapshots.ts'
import { UsageWatch } from '../runtimes/usage/usage-watch.ts'
import type { Service } from '../service.ts'
import { AuditLog } from '../tenancy/audit/audit-log.ts'
import { LikelyProjects } from '../tenancy/auth/likely-projects.ts'
import { OpenStreams } from '../tenancy/auth/open-streams.ts'
import { RecentKeys } from '../tenancy/auth/recent-keys.ts'
import { validCredentials } from '../tenancy/auth/valid-credentials.ts'
import { EventNews } from '../tenancy/events/event-news.ts'
import { ensureAdminKey, ensureDefaultProject } from '../tenancy/keys/bootstrap.ts'
import { RequestRates } from '../tenancy/limits/request-rates.ts'
import type { Rate } from '../tenancy/limits/token-buckets.ts'
import { ProjectQuotas } from '../tenancy/projects/project-quotas.ts'
import { Webhooks } from '../tenancy/webhooks/webhooks.ts'
import { openOwnStore } from './open-own-store.ts'
import { sweepForever } from './sweep.ts'

/**
 * The time that the start waits for the first reconciliation, which looks at each runtime once.
 * After it, reconciliation continues beside requests.
 */
const reconcileTimeoutMs = 30_000

/**
 * The connections that may wait to be accepted. A flood arrives faster than it is accepted, and a
 * refused client tries again after a second. The kernel caps the value.
 */
const acceptBacklog = 4096

/** The parts of a server. */
export interface ServerOptions {
  readonly config: ServerConfig
  readonly engine: Engine
  readonly log: Log
  /** The destination of traces. Default: none. */
  readonly tracer?: Tracer
  /** The source of the base templates. With null, none is made. */
  readonly baseSource: BaseSource | null
  /** The builder. Default: the real one. */
  readonly builder?: Builder
  /** The templates that the service builds on demand. Default: none. */
  readonly agentTemplates?: readonly AgentTemplate[]
  /** The way to external hosts. Default: the gateway of the configuration. */
  readonly outside?: Outside
  readonly now?: () => number
  /** The monotonic clock. Default: `now` if it is given, else the machine's. */
  readonly monotonic?: () => number
  /** The clock of the host. Default: one from `monotonic` or `now` if given, else the machine's. */
  readonly hostClock?: HostClock
  readonly freeMemoryMiB?: () => Promise<number | null>
  readonly limits?: ConnectionLimits
  readonly portLimits?: Partial<PortLimits>
  /** The rate at which an address may send wrong keys. */
  readonly failureRate?: Rate
  /** The delay before the first retry of failed base templates, in milliseconds. */
  readonly templateRetryMs?: number
}

/** A running server. */
export interface Server {
  readonly url: string
  /** The admin key of this machine. */
  readonly adminKey: string
  /** Settles when the first attempt to make the base templates has succeeded or failed. */
  readonly templatesMade: Promise<void>
  /** Ends requests and streams. Runtimes continue. */
  close(): Promise<void>
}

/**
 * Starts the service. Opens the store, compares it with the engine and listens. The base templates
 * are made in the background.
 */
export async function createServer(options: ServerOptions): Promise<Server> {
  const { config } = options
  const { tracer = noTracer } = options
  const metrics = new Metrics({ stateDir: config.stateDir, log: options.log })
  const eventNews = new EventNews()
  const store = eventNews.announce(observeStore(await openOwnStore(options), { metrics, tracer }))
  const controller = new AbortController()
  const { portSecret, masterKeys } = await openKeyFiles(options, store).catch(async (error) => {
    await store.close()
    throw error
  })
  const outside = options.outside ?? (await openOutside(config, options.log))
  let url = ''
  const opened = {
    store,
    eventNews,
    metrics,
    tracer,
    portSecret,
    masterKeys,
    outside,
    closing: controller.signal,
    url: () => url,
  }
  const service: Service = makeService(options, opened)
  await finishRotation(service).catch((err: unknown) => {
    // Both keys stay. Sealed values still open, and the next start tries again.
    options.log.error({ err }, 'a rotation of the master key could not be finished')
  })
  const clock = await ClockWatch.open(service)
  const projectId = await ensureDefaultProject(store, service.now())
  await failInterrupted(service).catch((err: unknown) => {
    // The builds keep their state until the next start. The service is usable without this.
    options.log.error({ err }, 'the builds of an earlier process could not be ended')
  })
  await failUnwritten(service).catch((err: unknown) => {
    // They are shown as being written until the next start, and can be deleted.
    options.log.error({ err }, 'the snapshots of an earlier process could not be ended')
  })
  await markMissing(service).catch((err: unknown) => {
    // The rows keep their state until the next start. A client that uses a missing thing gets an
    // error.
    options.log.error({ err }, 'the state directory could not be searched for missing files')
  })
  await ensureAgentTemplates(service, systemProjectId)
  const following = await beginFollowing(service)
  const cleared = clearResidue(service)
  service.builds.runAfter(cleared)
  const known = (await readCredentials(config.stateDir))?.key ?? null
  const adminKey = await ensureAdminKey(service, { projectId, known, now: service.now() })
  const app = createApp(service, handlers)
  const background: Promise<unknown>[] = [following.ended, cleared]
  const close = async () => {
    controller.abort(new Error('the service closes'))
    service.streams.close()
    service.ports.close()
    await app.close()
    await service.builds.close()
    await service.transitions.close()
    await Promise.allSettled(background)
    await service.networks.closeAll()
    await service.decisions.flush()
    await service.webhooks.closed()
    await service.audit.close()
    await store.close()
  }
  try {
    await app.listen({ host: config.host, port: config.port, backlog: acceptBacklog })
    url = urlOf(config.host, (app.server.address() as AddressInfo).port)
    service.addresses.listensAt(url)
    await writeCredentials(config.stateDir, { url, key: adminKey })
    await service.webhooks.start()
    const { baseSource: source, templateRetryMs } = options
    const templates =
      source === null ? null : keepBaseTemplates(service, { projectId: systemProjectId, source }, templateRetryMs)
    background.push(
      templates?.ended ?? Promise.resolve(),
      sweepForever(service, clock),
      service.pools.keep(),
      service.usage.keep(),
      metrics.process.keep(controller.signal),
    )
    return { url, adminKey, templatesMade: templates?.tried ?? Promise.resolve(), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Opens the key files of the state directory. Throws if secrets would be lost. */
async function openKeyFiles({ config, log, now = Date.now }: ServerOptions, { db }: Store) {
  const hasSealed = async () =>
    (await db
      .selectFrom('sealed_values')
      .select('owner_id')
      .where('purpose', '!=', recordsPurpose)
      .limit(1)
      .executeTakeFirst()) !== undefined
  // With `adoptStore`, an operator without a backup of the keys gives up the sealed values, once.
  const areNeeded = async () => !config.adoptStore && (await hasSealed())
  const masterKeys = await openMasterKeys(config.stateDir, { now: now(), areNeeded })
  return { masterKeys, portSecret: await openPortSecret(config.stateDir, log) }
}

function makeService(
  {
    config,
    engine,
    log,
    freeMemoryMiB,
    limits = limitsFor(openFilesLimit()),
    portLimits,
    failureRate,
    builder,
    agentTemplates = [],
    ...clocks
  }: ServerOptions,
  { store, eventNews, metrics, tracer, portSecret, masterKeys, outside, closing, url }: Opened,
): Service {
  const { now = Date.now, monotonic = clocks.now ?? (() => performance.now()) } = clocks
  const given = clocks.monotonic ?? clocks.now
  const { hostClock = given === undefined ? openHostClock() : { bootId: 'given', uptime: given } } = clocks
  const parts = { store, log, masterKeys, now, issuer: () => config.issuer ?? url() }
  const signingKeys = new SigningKeys(parts)
  const addresses = new AddressBook(store, log)
  const fallbacks = new Fallbacks(() => service)
  const service: Service = {
    config,
    engine: observeEngine(engine, { metrics, tracer, onFallback: (...seen) => void fallbacks.note(...seen) }),
    store,
    log,
    now,
    monotonic,
    hostClock,
    freeMemoryMiB: freeMemoryMiB ?? (async () => null),
    limits,
    recentKeys: new RecentKeys(),
    likelyProjects: new LikelyProjects(),
    rates: new RequestRates(monotonic, failureRate),
    projects: new ProjectQuotas({ store, log }, config.projectQuotas),
    streams: new OpenStreams((keyIds) => validCredentials(store.db, keyIds, now())),
    ports: new OpenPorts(now, portLimits),
    addresses: new PortAddresses(config.portDomain),
    portSecret,
    starts: new StartsUnderWay(),
    restores: new RestoresUnderWay(),
    forkCheckpoints: new ForkCheckpoints(() => service),
    childTurns: new ChildTurns(),
    pools: new Pools(() => service, config.pools),
    metrics,
    tracer,
    usage: new UsageWatch(() => service),
    transitions: new Transitions(),
    links: new RuntimeLinks(() => service),
    templateProgress: new TemplateProgress(),
    masterKeys,
    networks: new RuntimeNetworks(() => service, { gateway: outside.gateway, addresses }),
    decisions: new DecisionLog(store, log),
    eventNews,
    webhooks: new Webhooks(() => service, outside.dialWebhook),
    audit: new AuditLog(store, log, now),
    builds: new Builds(() => service, {
      store,
      log,
      config,
      builder: builder ?? realBuilder(config, outside),
      gateway: outside.gateway,
    }),
    holds: new Holds(),
    collector: new Collector(log),
    agents: new AgentTemplates(agentTemplates),
    signingKeys,
    oauthTokens: new OAuthTokens(outside.dialTls, now),
    workloadTokens: new WorkloadTokens({ ...parts, signingKeys }),
    issuer: parts.issuer,
    closing,
  }
  service.collector.collectWith(() => collect(service))
  registerGauges(service)
  return service
}

function realBuilder({ registries }: ServerConfig, { registryNetwork: network }: Outside): Builder {
  return { run: runBuild, sources: makeBuildSources({ network, registries }) }
}

/** The resources that a start opens before the service exists. */
interface Opened {
  readonly store: Store
  readonly eventNews: EventNews
  readonly metrics: Metrics
  readonly tracer: Tracer
  readonly portSecret: Buffer
  readonly masterKeys: MasterKeys
  readonly outside: Outside
  readonly closing: AbortSignal
  /** The address at which the service listens. Empty until it listens. */
  readonly url: () => string
}

/** Follows the engine. Resolves after the first comparison, or after `reconcileTimeoutMs`. */
async function beginFollowing(service: Service): Promise<{ readonly ended: Promise<void> }> {
  const { promise: listed, resolve } = Promise.withResolvers<void>()
  const ended = followEngine(service, resolve)
  const timer = setTimeout(() => {
    service.log.warn({}, 'the engine has not listed its runtimes yet; the service starts without the list')
    resolve()
  }, reconcileTimeoutMs)
  await listed
  clearTimeout(timer)
  return { ended }
}

/**
 * Returns the address at which clients on this machine find the service. A service that listens on
 * every address is found on loopback.
 */
function urlOf(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}
