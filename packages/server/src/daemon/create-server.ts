import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { runBuild } from '@holt/builder'
import type { Engine } from '@holt/engine'
import type { Api } from '../api/api.ts'
import { serveConsole } from '../api/console/serve-console.ts'
import { handlers } from '../api/handlers/handlers.ts'
import { ownHost } from '../api/handlers/host-handlers.ts'
import { createApp } from '../api/http/create-app.ts'
import { serveMcp } from '../api/mcp/serve-mcp.ts'
import { registerGauges } from '../api/metrics/register-gauges.ts'
import { listenSecurely, type SecureListener } from '../api/tls/secure-listener.ts'
import { type Artifacts, localArtifacts } from '../artifacts/artifacts.ts'
import { makeBuildSources } from '../builds/build-sources.ts'
import type { Builder } from '../builds/builder.ts'
import { openBuilds } from '../builds/builds.ts'
import { clearResidue } from '../builds/recover-builds.ts'
import { retakeCheckpoints } from '../builds/retake-checkpoints.ts'
import { retakeForClass } from '../builds/retake-for-class.ts'
import { e2bEntry } from '../e2b/entry/e2b-entry.ts'
import type { ArtifactFetches, ArtifactObjects } from '../fleet/artifact-rows/fleet-artifacts.ts'
import type { FleetParts } from '../fleet/forwarding/open-peers.ts'
import type { Fleet } from '../fleet/open-fleet.ts'
import type { ServerConfig } from '../foundation/config/config.ts'
import { readCredentials, writeCredentials } from '../foundation/config/credentials.ts'
import { urlOf } from '../foundation/config/url-of.ts'
import type { Foundation } from '../foundation/foundation.ts'
import { systemProjectId } from '../foundation/rows/system-project.ts'
import { openInside } from '../inside/inside.ts'
import type { PortLimits } from '../inside/ports/open-ports.ts'
import { openPortSecret } from '../inside/ports/port-token.ts'
import type { AgentTemplate } from '../resources/agents/agent-template.ts'
import { ensureAgentTemplates } from '../resources/agents/ensure-agent-templates.ts'
import { type Outside, openOutside } from '../resources/network/open-outside.ts'
import { openResources } from '../resources/resources.ts'
import type { BaseSource } from '../resources/templates/base-source.ts'
import { keepBaseTemplates } from '../resources/templates/keep-base-templates.ts'
import { ClockWatch } from '../runtimes/lifecycle/clock-watch.ts'
import { openRuntimes } from '../runtimes/runtimes.ts'
import { ensureAdminKey, ensureDefaultProject } from '../tenancy/keys/bootstrap.ts'
import type { Rate } from '../tenancy/limits/token-buckets.ts'
import { openTenancy } from '../tenancy/tenancy.ts'
import { beginFollowing } from './begin-following.ts'
import { followOthers, joinFleet } from './join-fleet.ts'
import { type FoundationOptions, openFoundation } from './open-foundation.ts'
import { recover } from './recover.ts'
import { sweepForever } from './sweep.ts'

/**
 * The connections that may wait to be accepted. A flood arrives faster than it is accepted, and a
 * refused client tries again after a second. The kernel caps the value.
 */
const acceptBacklog = 4096

/** The parts of a server. */
export interface ServerOptions extends FoundationOptions {
  /** The source of the base templates. With null, none is made. */
  readonly baseSource: BaseSource | null
  /** The builder. Default: the real one. */
  readonly builder?: Builder
  /** The templates that the service builds on demand. Default: none. */
  readonly agentTemplates?: readonly AgentTemplate[]
  /** The way to external hosts. Default: the gateway of the configuration. */
  readonly outside?: Outside
  readonly portLimits?: Partial<PortLimits>
  /** The parts of the connections with other hosts. Default: those of the configured fleet. */
  readonly peers?: FleetParts | null
  /** The images and checkpoints of the fleet. Default: those of this machine. */
  readonly artifacts?: Artifacts
  /**
   * The placement of new runtimes in a fleet. `own`: a ready host makes those of its clients.
   * Default `fleet`: on the best host.
   */
  readonly places?: 'fleet' | 'own'
  /** The ways of artifacts in a fleet. Default: those of the configured fleet. */
  readonly artifactWays?: ArtifactWays
  /** The rate at which an address may send wrong keys. */
  readonly failureRate?: Rate
  /** The delay before the first retry of failed base templates, in milliseconds. */
  readonly templateRetryMs?: number
}

/** The ways of artifacts between hosts. */
export interface ArtifactWays {
  readonly objects: ArtifactObjects
  /** Returns the way to a host. */
  readonly fetchesOf: (engine: Engine) => ArtifactFetches
}

/** A running server. */
export interface Server {
  readonly url: string
  /** The port of the TLS listener; null without one. */
  readonly securePort: number | null
  /** The port of the listener for other hosts; null without a fleet. */
  readonly peerPort: number | null
  /** The admin key of this machine. Empty for a worker, which answers no clients. */
  readonly adminKey: string
  /** Settles when the first attempt to make the base templates has succeeded or failed. */
  readonly templatesMade: Promise<void>
  /** Ends requests and streams. Runtimes continue. */
  close(): Promise<void>
}

/**
 * Starts the service: opens the districts from the lowest to the highest, corrects what an earlier
 * process left, follows the engine, and listens. The base templates are made in the background.
 */
export async function createServer(options: ServerOptions): Promise<Server> {
  const { config } = options
  const controller = new AbortController()
  const { service, fleet, listensAt } = await openDistricts(options, controller.signal)
  const clock = await ClockWatch.open(service)
  const isEntry = config.fleet?.role !== 'worker'
  const projectId = isEntry ? await ensureDefaultProject(service.store, service.now()) : null
  await recover(service)
  if (isEntry) await ensureAgentTemplates(service, systemProjectId)
  const following = await beginFollowing(service)
  const cleared = clearResidue(service)
  service.builds.runAfter(cleared)
  const adminKey = projectId === null ? '' : await openAdminKey(service, fleet, projectId)
  const entries = config.e2b === null ? [] : [e2bEntry(config.e2b)]
  const mounts = isEntry ? [serveMcp, ...(config.console ? [serveConsole] : [])] : []
  const peers = await joinFleet(service, { fleet, given: options.peers ?? null, places: options.places })
  const app = createApp(service, handlers, { mounts, entries, fleet: peers })
  fleet?.guardClients(app.server)
  const background: Promise<unknown>[] = [following.ended, cleared, ...(fleet === null ? [] : [fleet.ended])]
  let secure: SecureListener | null = null
  const close = async () => {
    controller.abort(new Error('the service closes'))
    service.streams.close()
    service.ports.close()
    service.visits.close()
    await fleet?.leave()
    await Promise.all([app.close(), secure?.close(), peers?.close()])
    await service.builds.close()
    await service.transitions.close()
    await Promise.allSettled(background)
    await service.networks.closeAll()
    await service.decisions.flush()
    await service.webhooks.closed()
    await service.audit.close()
    await service.store.close()
  }
  try {
    await app.listen({ host: config.host, port: config.port, backlog: acceptBacklog })
    if (config.tls !== null) {
      const { limits, log } = service
      secure = await listenSecurely(app.server, config.tls, { limits, log, backlog: acceptBacklog })
    }
    const url = urlOf(config.host, (app.server.address() as AddressInfo).port)
    listensAt(url)
    service.addresses.listensAt(url)
    const peerPort = (await peers?.listen()) ?? null
    if (isEntry) await writeCredentials(config.stateDir, { url, key: adminKey })
    await fleet?.becomeReady(peerPort ?? 0, {
      describe: () => ownHost(service),
      classId: service.artifacts.classId,
    })
    if (isEntry) await service.webhooks.start()
    const { baseSource: source, templateRetryMs } = options
    const templates =
      source === null ? null : keepBaseTemplates(service, { projectId: systemProjectId, source }, templateRetryMs)
    // The base templates come first: most runtimes are of them. In a fleet, a checkpoint that this
    // host cannot restore may be good at the host that took it.
    const retaken = Promise.all([templates?.tried, cleared]).then(() =>
      fleet === null ? retakeCheckpoints(service) : retakeForClass(service),
    )
    background.push(
      templates?.ended ?? Promise.resolve(),
      retaken,
      sweepForever(service, clock),
      service.pools.keep(),
      service.usage.keep(),
      service.metrics.process.keep(controller.signal),
      ...(fleet === null ? [] : followOthers(service, fleet)),
      peers?.placement?.keep() ?? Promise.resolve(),
    )
    return {
      url,
      securePort: secure?.port ?? null,
      peerPort,
      adminKey,
      templatesMade: templates?.tried ?? Promise.resolve(),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Returns the admin key of this machine, and makes it if there is none. */
async function openAdminKey(service: Api, fleet: Fleet | null, projectId: string): Promise<string> {
  const known = (await readCredentials(service.config.stateDir))?.key ?? null
  return ensureAdminKey(service, { projectId, known, now: service.now(), hostId: fleet && service.thisHost.hostId })
}

/** Opens the districts, each with the handle of the one below. */
async function openDistricts(
  options: ServerOptions,
  closing: AbortSignal,
): Promise<{ readonly service: Api; readonly fleet: Fleet | null; readonly listensAt: (url: string) => void }> {
  const { config, log, agentTemplates = [], builder, portLimits, failureRate } = options
  const { foundation, eventNotifier, fleet, listensAt } = await openFoundation(options, closing)
  const portSecret = await portSecretOf(foundation, fleet).catch(async (error) => {
    await foundation.store.close()
    throw error
  })
  const known = options.outside ?? (await openOutside(config, log))
  const outside = fleet === null ? known : { ...known, gateway: fleet.guardGateway(known.gateway) }
  const tenancy = openTenancy(foundation, { eventNotifier, dialWebhook: outside.dialWebhook, failureRate })
  const artifacts = options.artifacts ?? (await openArtifacts(foundation, options, fleet))
  const { secretValue, runtimeTokens, recordKeys = null } = fleet?.asked ?? {}
  tenancy.records.askKeys = recordKeys
  const resources = openResources(tenancy, { artifacts, outside, agentTemplates, secretValue })
  const runtimes = openRuntimes(resources)
  const builds = openBuilds(runtimes, { builder: builder ?? realBuilder(config, outside), gateway: outside.gateway })
  const service: Api = openInside(builds, { portSecret, portLimits, runtimeTokens })
  registerGauges(service)
  return { service, fleet, listensAt }
}

/** Returns the artifacts of this machine: of a fleet, or those on its disk alone. */
async function openArtifacts(
  foundation: Foundation,
  { artifactWays, engine }: ServerOptions,
  fleet: Fleet | null,
): Promise<Artifacts> {
  if (fleet === null) return localArtifacts
  const artifacts = await fleet.openArtifacts(foundation, artifactWays?.objects ?? null)
  if (artifactWays !== undefined) artifacts?.fetchWith(artifactWays.fetchesOf(engine))
  return artifacts ?? localArtifacts
}

/**
 * Returns the secret that signs tokens for ports. A worker has none, and fronts make its tokens. It
 * gets a random secret, by which no token is valid.
 */
async function portSecretOf({ config, log, masterKeys }: Foundation, fleet: Fleet | null): Promise<Buffer> {
  if (masterKeys === null) return randomBytes(32)
  const own = await openPortSecret(config.stateDir, log)
  return fleet === null ? own : fleet.sharePortSecret(own)
}

function realBuilder({ registries }: ServerConfig, { registryNetwork: network }: Outside): Builder {
  return { run: runBuild, sources: makeBuildSources({ network, registries }) }
}
