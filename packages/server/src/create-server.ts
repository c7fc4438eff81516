import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Engine } from '@holt/engine'
import { OpenStreams } from './auth/open-streams.ts'
import { RecentKeys } from './auth/recent-keys.ts'
import type { ServerConfig } from './config/config.ts'
import { readCredentials, writeCredentials } from './config/credentials.ts'
import { type ConnectionLimits, connectionLimits, createApp } from './http/create-app.ts'
import { handlers } from './http/handlers.ts'
import { ensureAdminKey, ensureDefaultProject } from './keys/bootstrap.ts'
import { followEngine } from './runtimes/follow-engine.ts'
import { StartsUnderWay } from './runtimes/starts-under-way.ts'
import { sweepForever } from './runtimes/sweep.ts'
import type { Log, Service } from './service.ts'
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
  readonly now?: () => number
  readonly freeMemoryMiB?: () => Promise<number | null>
  readonly limits?: ConnectionLimits
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
  const service = makeService(options, { store, closing: controller.signal })
  const projectId = await ensureDefaultProject(store, service.now())
  const following = await beginFollowing(service)
  const known = (await readCredentials(config.stateDir))?.key ?? null
  const adminKey = await ensureAdminKey(store, { projectId, known, now: service.now() })
  const app = createApp(service, handlers, options.limits ?? connectionLimits)
  const background: Promise<unknown>[] = [following.ended]
  const close = async () => {
    controller.abort(new Error('the service closes'))
    service.streams.close()
    await app.close()
    await Promise.allSettled(background)
    await store.close()
  }
  try {
    await app.listen({ host: config.host, port: config.port })
    const url = urlOf(config.host, (app.server.address() as AddressInfo).port)
    await writeCredentials(config.stateDir, { url, key: adminKey })
    const { baseSource: source, templateRetryMs } = options
    const templates = source === null ? null : keepBaseTemplates(service, { projectId, source }, templateRetryMs)
    background.push(templates?.ended ?? Promise.resolve(), sweepForever(service))
    return { url, adminKey, templatesMade: templates?.tried ?? Promise.resolve(), close }
  } catch (error) {
    await close()
    throw error
  }
}

function makeService(
  { config, engine, log, now = Date.now, freeMemoryMiB }: ServerOptions,
  { store, closing }: { store: Store; closing: AbortSignal },
): Service {
  return {
    config,
    engine,
    store,
    log,
    now,
    freeMemoryMiB: freeMemoryMiB ?? (async () => null),
    recentKeys: new RecentKeys(),
    streams: new OpenStreams((keyIds) => validKeys(store, keyIds, now())),
    starts: new StartsUnderWay(),
    templateProgress: new TemplateProgress(),
    closing,
  }
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
