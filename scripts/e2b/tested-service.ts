import type { RigFacts } from '../../e2e/support/rig/records.ts'

/** The service that the examples run against, as scripts/test-e2b.sh starts it. */
export const service = {
  url: needed('HOLT_URL'),
  apiKey: needed('HOLT_API_KEY'),
  domain: needed('HOLT_E2B_DOMAIN'),
  authority: needed('HOLT_TEST_E2B_AUTHORITY'),
  bundle: needed('HOLT_TEST_E2B_BUNDLE'),
  /** The Internet of the service. */
  rig: JSON.parse(needed('HOLT_TEST_RIG')) as RigFacts,
  /** The port of the registry that the service asks for the images of docker.io. */
  get registryPort(): number {
    return Number(needed('HOLT_TEST_E2B_REGISTRY_PORT'))
  },
}

/** The headers of a request with a body of JSON, with the key of the administrator. */
export const headers = { authorization: `Bearer ${service.apiKey}`, 'content-type': 'application/json' }

function needed(name: string): string {
  const value = process.env[name]
  if (value === undefined || value === '') throw new Error(`FIX: ${name} is not set; use scripts/test-e2b.sh`)
  return value
}
