import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { runBuild } from '@holt/builder'
import type { Engine } from '@holt/engine'
import type { AgentTemplate } from './agents/agent-template.ts'
import { AgentTemplates } from './agents/agent-templates.ts'
import { ensureAgentTemplates } from './agents/ensure-agent-templates.ts'
import { OpenStreams } from './auth/open-streams.ts'
import { RecentKeys } from './auth/recent-keys.ts'
import { makeBuildSources } from './builds/build-sources.ts'
import type { Builder } from './builds/builder.ts'
import { Builds } from './builds/builds.ts'
import { clearResidue, failInterrupted } from './builds/recover-builds.ts'
import type { ServerConfig } from './config/config.ts'
import { readCredentials, writeCredentials } from './config/credentials.ts'
import { type ConnectionLimits, connectionLimits, createApp } from './http/create-app.ts'
import { handlers } from './http/handlers.ts'
import { OAuthTokens } from './identity/oauth-tokens.ts'
import { SigningKeys } from './identity/signing-keys.ts'
import { WorkloadTokens } from './identity/workload-tokens.ts'
import { ensureAdminKey, ensureDefaultProject } from './keys/bootstrap.ts'
import { Transitions } from './lifecycle/transitions.ts'
import { RuntimeLinks } from './links/runtime-links.ts'
import { Metrics } from './metrics/metrics.ts'
import { AddressBook } from './network/address-book.ts'
import { DecisionLog } from './network/decision-log.ts'
import { type Outside, openOutside } from './network/open-outside.ts'
import { RuntimeNetworks } from './network/runtime-networks.ts'
import { Pools } from './pools/pools.ts'
import { OpenPorts, type PortLimits } from './ports/open-ports.ts'
import { PortAddresses } from './ports/port-addresses.ts'
import { openPortSecret } from './ports/port-token.ts'
import { followEngine } from './runtimes/follow-engine.ts'
import { StartsUnderWay } from './runtimes/starts-under-way.ts'
import { sweepForever } from './runtimes/sweep.ts'
import { type MasterKeys, openMasterKeys } from './sealing/master-keys.ts'
import { finishRotation } from './sealing/rotate-master-key.ts'
import type { Log, Service } from './service.ts'
import { failUnwritten } from './snapshots/recover-snapshots.ts'
import { openStore, type Store } from './store/open-store.ts'
import type { BaseSource } from './templates/base-source.ts'
import { keepBaseTemplates } from './templates/keep-base-templates.ts'
import { TemplateProgress } from './templates/template-progress.ts'

/** Reconciling looks at each runtime once; past this the service starts and goes on reconciling beside requests. */
const reconcileTimeoutMs = 30_000

/** What a server is made of. */
export interface ServerOptions {
  readonly config: ServerConfig
  readonly engine: Engine
  readonly log: Log
  /** Where the base templates come from; null makes none. */
  readonly baseSource: BaseSource | null
  /** What carries builds out; default: the real one. */
  readonly builder?: Builder
  /** The templates that the service builds by itself when they are asked for; default: none. */
  readonly agentTemplates?: readonly AgentTemplate[]
  /** The way to hosts outside; default: the gateway, as the configuration has it. */
  readonly outside?: Outside
  readonly now?: () => number
  /** Default: `now` where it is given, else the machine's own. */
  readonly monotonic?: () => number
  readonly freeMemoryMiB?: () => Promise<number | null>
  readonly limits?: ConnectionLimits
  readonly portLimits?: Partial<PortLimits>
  /** How long after a failure the base templates are tried again for the first time. */
  readonly templateRetryMs?: number
}

/** A server that answers. */
export interface Server {
  readonly url: string
  /** The admin key of this machine. */
  readonly adminKey: string
  /** Settles when the base templates are made, or could not be for the first time. */
  readonly templatesMade: Promise<void>
  /** Ends requests and streams. Runtimes go on. */
  close(): Promise<void>
}

/** Starts the service: open the store, compare it with the engine, listen, and make the base templates beside that. */
export async function createServer(options: ServerOptions): Promise<Server> {
  const { config } = options
  const store = openStore(join(config.stateDir, 'holt.db'))
  const controller = new AbortController()
  const portSecret = await openPortSecret(config.stateDir)
  const masterKeys = await openMasterKeys(config.stateDir, (options.now ?? Date.now)())
  const outside = options.outside ?? (await openOutside(config, options.log))
  let url = ''
  const opened = { store, portSecret, masterKeys, outside, closing: controller.signal, url: () => url }
  const service = makeService(options, opened)
  await finishRotation(service).catch((err: unknown) => {
    // Both keys stay: what is sealed opens as before, and the next start tries again.
    options.log.error({ err }, 'a rotation of the master key could not be finished')
  })
  const projectId = await ensureDefaultProject(store, service.now())
  await failInterrupted(service).catch((err: unknown) => {
    // They are shown as they were until the next start; the service is of use without.
    options.log.error({ err }, 'the builds that an earlier process left could not be ended')
  })
  await failUnwritten(service).catch((err: unknown) => {
    // They are shown as being written until the next start, and can be deleted.
    options.log.error({ err }, 'the snapshots that an earlier process left could not be ended')
  })
  await ensureAgentTemplates(service, projectId)
  const following = await beginFollowing(service)
  const cleared = clearResidue(service)
  service.builds.runAfter(cleared)
  const known = (await readCredentials(config.stateDir))?.key ?? null
  const adminKey = await ensureAdminKey(store, { projectId, known, now: service.now() })
  const app = createApp(service, handlers, options.limits ?? connectionLimits)
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
    await store.close()
  }
  try {
    await app.listen({ host: config.host, port: config.port })
    url = urlOf(config.host, (app.server.address() as AddressInfo).port)
    service.addresses.listensAt(url)
    await writeCredentials(config.stateDir, { url, key: adminKey })
    const { baseSource: source, templateRetryMs } = options
    const templates = source === null ? null : keepBaseTemplates(service, { projectId, source }, templateRetryMs)
    background.push(templates?.ended ?? Promise.resolve(), sweepForever(service), service.pools.keep())
    return { url, adminKey, templatesMade: templates?.tried ?? Promise.resolve(), close }
  } catch (error) {
    await close()
    throw error
  }
}

function makeService(
  { config, engine, log, freeMemoryMiB, portLimits, builder, agentTemplates = [], ...clocks }: ServerOptions,
  { store, portSecret, masterKeys, outside, closing, url }: Opened,
): Service {
  const { now = Date.now, monotonic = clocks.now ?? (() => performance.now()) } = clocks
  const parts = { store, masterKeys, now, issuer: () => config.issuer ?? url() }
  const signingKeys = new SigningKeys(parts)
  const addresses = new AddressBook(store, log)
  const service: Service = {
    config,
    engine,
    store,
    log,
    now,
    monotonic,
    freeMemoryMiB: freeMemoryMiB ?? (async () => null),
    recentKeys: new RecentKeys(),
    streams: new OpenStreams((keyIds) => validKeys(store, keyIds, now())),
    ports: new OpenPorts(now, portLimits),
    addresses: new PortAddresses(config.portDomain),
    portSecret,
    starts: new StartsUnderWay(),
    pools: new Pools(() => service, config.pools),
    metrics: new Metrics(() => service),
    transitions: new Transitions(),
    links: new RuntimeLinks(() => service),
    templateProgress: new TemplateProgress(),
    masterKeys,
    networks: new RuntimeNetworks(() => service, { gateway: outside.gateway, addresses }),
    decisions: new DecisionLog(store, log),
    builds: new Builds(() => service, {
      store,
      log,
      config,
      builder: builder ?? realBuilder(config, outside),
      gateway: outside.gateway,
    }),
    agents: new AgentTemplates(agentTemplates),
    signingKeys,
    oauthTokens: new OAuthTokens(outside.dialTls, now),
    workloadTokens: new WorkloadTokens({ ...parts, signingKeys }),
    issuer: parts.issuer,
    closing,
  }
  return service
}

function realBuilder({ registries }: ServerConfig, { registryNetwork: network }: Outside): Builder {
  return { run: runBuild, sources: makeBuildSources({ network, registries }) }
}

/** What a start has opened before there is a service. */
interface Opened {
  readonly store: Store
  readonly portSecret: Buffer
  readonly masterKeys: MasterKeys
  readonly outside: Outside
  readonly closing: AbortSignal
  /** Where the service listens; empty until it does. */
  readonly url: () => string
}

async function validKeys({ db }: Store, keyIds: readonly string[], now: number): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('keys')
    .select('key_id')
    .where('key_id', 'in', keyIds)
    .where('revoked_at', 'is', null)
    .where(({ eb, or }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
    .execute()
  return new Set(rows.map(({ key_id }) => key_id))
}

/** Follows the engine; resolves after the first comparison. */
async function beginFollowing(service: Service): Promise<{ readonly ended: Promise<void> }> {
  const { promise: listed, resolve } = Promise.withResolvers<void>()
  const ended = followEngine(service, resolve)
  const timer = setTimeout(() => {
    service.log.warn({}, 'the engine has not listed its runtimes yet; the service starts without')
    resolve()
  }, reconcileTimeoutMs)
  await listed
  clearTimeout(timer)
  return { ended }
}

/** Where clients on this machine find the service. One that listens on every address is found on loopback. */
function urlOf(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}
