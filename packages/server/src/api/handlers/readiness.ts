import type { EngineFacts, IsolationFacts } from '@holt/engine'
import { defaultTemplate, type Readiness } from '@holt/protocol'
import { inTime } from '../../foundation/async/in-time.ts'
import type { Api } from '../api.ts'

/** The state of a host that decides if it can create runtimes. */
export interface HostReadiness {
  /** Null if the engine does not answer in time. */
  readonly facts: EngineFacts | null
  /** The reasons why it cannot; empty if it can. */
  readonly reasons: readonly string[]
}

/** Returns the facts of the host, and the reasons why it cannot create runtimes. */
export async function readinessOf(service: Api): Promise<HostReadiness> {
  const facts = await described(service)
  if (service.thisHost.fenced) return { facts, reasons: ['This host has lost its contact to the fleet.'] }
  // A cordoned or draining host is ready: it forwards requests.
  const own = service.condition.reasons
  if (own.length > 0) return { facts, reasons: own }
  // A front runs nothing and makes no templates. If no front were ready, nobody could ask why.
  if (service.config.fleet?.role === 'front') return { facts, reasons: [] }
  return { facts, reasons: [...engineReasons(facts), ...(await templateReasons(service))] }
}

/** Presents whether a class of isolation can be used, and if not, the reason and the fix. */
export function availabilityOf(facts: IsolationFacts): Readiness['isolation'][string] {
  return facts.available
    ? { available: true, reason: null, fix: null }
    : { available: false, reason: facts.reason, fix: facts.fix }
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
  return inTime(facts, describeTimeoutMs)
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
