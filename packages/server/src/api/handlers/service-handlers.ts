import { openApi, type Readiness } from '@holt/protocol'
import { version } from '../../foundation/config/version.ts'
import type { Answer, Call } from '../../foundation/wire/call.ts'
import { jsonHeaders } from '../../foundation/wire/json-headers.ts'
import type { Api, Handlers } from '../api.ts'
import { availabilityOf, readinessOf } from './readiness.ts'

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
  const { facts, reasons } = await readinessOf(service)
  const json: Readiness = {
    status: reasons.length === 0 ? 'ready' : 'not_ready',
    version,
    reasons: [...reasons],
    isolation:
      facts === null
        ? {}
        : { gvisor: availabilityOf(facts.isolation.gvisor), container: availabilityOf(facts.isolation.container) },
    fallbacks: [...(await service.metrics.engine.fallbacks())],
    retakes: service.retakes.counts,
  }
  return { status: reasons.length === 0 ? 200 : 503, json }
}
