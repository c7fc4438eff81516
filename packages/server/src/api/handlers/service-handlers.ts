import type { EngineFacts, IsolationFacts } from '@holt/engine'
import { defaultTemplate, openApi, type Readiness } from '@holt/protocol'
import { pause } from '../../foundation/async/pause.ts'
import { version } from '../../foundation/config/version.ts'
import type { Answer, Call } from '../../foundation/wire/call.ts'
import { jsonHeaders } from '../../foundation/wire/json-headers.ts'
import type { Api, Handlers } from '../api.ts'

const document = openApi(version)

/**
 * The description, serialized once and shared by all answers: it is large, and readable without a
 * key.
 */
const description = Buffer.from(JSON.stringify(document))

/** The routes about the service itself. */
export const serviceHandlers = {
  health: async () => ({ status: 200, json: { status: 'ok' } }),
  readiness,
  openapi: async () => ({ status: 200, written: description, headers: jsonHeaders }),
  // The links of the site begin with `/docs/`.
  docs: async () => ({ status: 308, headers: { location: '/docs/' } }),
} satisfies Partial<Handlers>

async function readiness({ service }: Call<'readiness', Api>): Promise<Answer> {
  const facts = await described(service)
  const reasons = [...engineReasons(facts), ...(await templateReasons(service))]
  const json: Readiness = {
    status: reasons.length === 0 ? 'ready' : 'not_ready',
    version,
    reasons,
    isolation:
      facts === null ? {} : { gvisor: present(facts.isolation.gvisor), container: present(facts.isolation.container) },
    fallbacks: [...(await service.metrics.engine.fallbacks())],
    retakes: service.retakes.counts,
  }
  return { status: reasons.length === 0 ? 200 : 503, json }
}

/**
 * The time for a description, in milliseconds. A trial start of a class may take longer than a
 * client waits (`holt doctor` waits 5 s).
 */
const describeTimeoutMs = 3_000

/** Returns the facts of the host, or null if they do not arrive in time. */
async function described({ engine, log }: Api): Promise<EngineFacts | null> {
  const facts = engine.describe().catch((error) => {
    log.error({ err: error }, 'the engine cannot be described')
    return null
  })
  const over = new AbortController()
  try {
    return await Promise.race([facts, pause(describeTimeoutMs, over.signal).then(() => null)])
  } finally {
    over.abort()
  }
}

function engineReasons(facts: EngineFacts | null): readonly string[] {
  if (facts === null) return ['The engine does not answer, or is testing whether it can start a runtime.']
  const classes = Object.entries(facts.isolation)
  if (classes.some(([, { available }]) => available)) return []
  const reasons = classes.map(([name, fact]) => (fact.available ? '' : ` ${name}: ${fact.reason}.`))
  return [`No class of isolation is available on this host.${reasons.join('')}`]
}

/**
 * Returns the reasons why templates are not ready. The default template must be ready, and no other
 * one may be in progress.
 */
async function templateReasons({ store, templateProgress }: Api): Promise<readonly string[]> {
  const rows = await store.db
    .selectFrom('templates')
    .select(['template_id', 'name', 'state', 'state_reason_json'])
    .where('kind', '=', 'system')
    .orderBy('seq')
    .execute()
  if (rows.length === 0) return ['The base templates are not made yet.']
  return rows.flatMap(({ template_id, name, state, state_reason_json }) => {
    if (state === 'building') {
      const phase = templateProgress.get(template_id)?.phase
      return [`The template ${name} is being made${phase === undefined ? '' : `: ${phase}`}.`]
    }
    if (state !== 'failed' || name !== defaultTemplate) return []
    const reason = state_reason_json === null ? null : (JSON.parse(state_reason_json) as { message: string })
    return [`The template ${name} could not be made${reason === null ? '.' : `: ${reason.message}`}`]
  })
}

function present(facts: IsolationFacts): Readiness['isolation'][string] {
  return facts.available
    ? { available: true, reason: null, fix: null }
    : { available: false, reason: facts.reason, fix: facts.fix }
}
