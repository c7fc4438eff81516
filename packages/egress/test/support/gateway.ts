import { setTimeout as delay } from 'node:timers/promises'
import { PolicyBody, type PolicyBodyInput } from '@holt/protocol'
import {
  type AttachedSecret,
  type Decision,
  type EgressSettings,
  Gateway,
  type Log,
  makeEffectivePolicy,
  makeRuntimeCa,
  type RuntimeEgress,
} from '../../src/index.ts'
import { TestGuest } from './guest.ts'

/** A log that keeps its errors. */
function makeLog(): Log & { readonly faults: unknown[] } {
  const faults: unknown[] = []
  const silent = () => undefined
  return { faults, debug: silent, info: silent, warn: silent, error: (fields) => faults.push(fields) }
}

/** A policy as a client writes it, ready for the gateway. */
export function policyOf(allow: PolicyBodyInput['allow'] = [], more: Omit<PolicyBodyInput, 'allow'> = {}) {
  return makeEffectivePolicy(PolicyBody.parse({ allow, ...more }))
}

/** A runtime attached to a gateway, with its guest. */
export interface TestRuntime extends AsyncDisposable {
  readonly egress: RuntimeEgress
  readonly guest: TestGuest
  readonly decisions: Decision[]
  readonly faults: unknown[]
}

/** Attaches a runtime whose names live on loopback. */
export async function startRuntime(options: {
  settings?: Partial<EgressSettings>
  allow?: PolicyBodyInput['allow']
  policy?: Omit<PolicyBodyInput, 'allow'>
  secrets?: readonly AttachedSecret[]
  mayLeave?: () => boolean
}): Promise<TestRuntime> {
  const log = makeLog()
  const settings = {
    resolvers: ['127.0.0.1:1'],
    allowedNetworks: ['127.0.0.0/8', '::1/128'],
    overrides: [],
    extraCaPem: null,
    ...options.settings,
  }
  const decisions: Decision[] = []
  const egress = new Gateway({ settings, log }).attach({
    id: 'test',
    policy: policyOf(options.allow, options.policy),
    secrets: options.secrets ?? [],
    ca: await makeRuntimeCa('test runtime'),
    ...(options.mayLeave === undefined ? {} : { mayLeave: options.mayLeave }),
    onDecision: (decision) => decisions.push(decision),
  })
  const guest = await TestGuest.start(egress)
  return {
    egress,
    guest,
    decisions,
    faults: log.faults,
    async [Symbol.asyncDispose]() {
      egress.close()
      await guest[Symbol.asyncDispose]()
    },
  }
}

/** Waits until something holds, for as long as a loaded machine may take. */
export async function until(holds: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 30_000
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`not in time: ${what}`)
    await delay(5)
  }
}
