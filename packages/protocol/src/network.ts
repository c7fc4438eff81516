import { z } from 'zod'
import { idSchema } from './ids.ts'
import { PolicyBody, PolicyRule } from './network-policy.ts'
import { Timestamp } from './page.ts'
import { Inspection, PolicyContent, PolicyRef, WantedPolicy } from './policy.ts'

/** A secret as a runtime has it. */
export const RuntimeSecret = z
  .object({
    name: z.string(),
    env_name: z.string().describe('The variable that holds the placeholder, or the value itself where it is inside.'),
    inside: z.boolean().describe('True where the real value is in the runtime.'),
    hosts: z.array(z.string()),
    header: z.string().nullable(),
    available: z
      .boolean()
      .describe('False where the secret has been deleted: requests that carry its placeholder are refused.'),
  })
  .meta({ id: 'RuntimeSecret' })
export type RuntimeSecret = z.infer<typeof RuntimeSecret>

/** A runtime's way out, as it is now. */
export const RuntimeNetwork = z
  .object({
    runtime_id: idSchema('runtime'),
    network_policy: PolicyRef.nullable(),
    policy: PolicyContent.nullable().describe('What it allows; null: nothing can be reached.'),
    secrets: z.array(RuntimeSecret),
    updated_at: Timestamp,
  })
  .meta({ id: 'RuntimeNetwork' })
export type RuntimeNetwork = z.infer<typeof RuntimeNetwork>

/** The body of a change of a runtime's policy. */
export const SetRuntimeNetwork = z.strictObject({ network_policy: WantedPolicy }).meta({ id: 'SetRuntimeNetwork' })
export type SetRuntimeNetworkInput = z.input<typeof SetRuntimeNetwork>
export type SetRuntimeNetwork = z.output<typeof SetRuntimeNetwork>

/** The body of a test: would this be let through? */
export const TestNetwork = z
  .strictObject({
    host: z
      .string()
      .min(1)
      .max(255)
      .regex(/^[\x21-\x7e]+$/, 'must be a host name or an address')
      .describe('A host name or an IPv4 address.'),
    port: z.number().int().min(1).max(65_535).default(443),
    method: z
      .string()
      .regex(/^[A-Z]{1,20}$/, 'must be a method in capitals, such as GET')
      .optional(),
    path: z
      .string()
      .max(1024)
      .regex(/^\/[\x21-\x7e]*$/, 'must begin with / and have no spaces')
      .optional(),
  })
  .meta({ id: 'TestNetwork', examples: [{ host: 'pypi.org' }] })
export type TestNetworkInput = z.input<typeof TestNetwork>
export type TestNetwork = z.output<typeof TestNetwork>

/** What would become of a connection. */
export const TestedNetwork = z
  .object({
    allowed: z.boolean(),
    rule: z.string().describe('The rule that allows it, or why it is denied: `no_rule`, `no_policy`, `non_public`...'),
    inspection: Inspection.nullable(),
    addresses: z.array(z.string()).describe('What the name resolves to, as far as it may be reached.'),
    detail: z.string().describe('One sentence for people.'),
  })
  .meta({ id: 'TestedNetwork' })
export type TestedNetwork = z.infer<typeof TestedNetwork>

const cursor = z.number().int().describe('Resume after this item with ?cursor=.')

/** What a runtime tried to reach, and what was decided. */
const NetworkDecision = z.object({
  type: z
    .enum(['dns', 'connect', 'request', 'close'])
    .describe('A name asked for, a connection, a request inside a terminated one, or the end of a connection.'),
  cursor,
  at: Timestamp,
  name: z.string().nullable(),
  address: z.string().nullable().describe('The upstream address, or the one that was dialled.'),
  port: z.number().int().nullable(),
  allowed: z.boolean(),
  rule: z.string().describe('The rule that allowed it, or why it was denied.'),
  method: z.string().nullable(),
  path: z.string().nullable().describe('Without the query.'),
  bytes_sent: z.number().int().nullable(),
  bytes_received: z.number().int().nullable(),
  process: z
    .object({ pid: z.number().int(), name: z.string(), uid: z.number().int() })
    .nullable()
    .describe('What the runtime says of the process that asked: its own word, not a fact.'),
  secret: z.string().nullable().describe('The secret that was put in, by name.'),
})
export type NetworkDecision = z.infer<typeof NetworkDecision>

/** An item of a runtime's network log. */
export const NetworkLogItem = z
  .discriminatedUnion('type', [
    NetworkDecision,
    z.object({ type: z.literal('dropped'), cursor, dropped_items: z.number().int() }),
    z.object({ type: z.literal('end'), cursor }),
  ])
  .meta({ id: 'NetworkLogItem' })
export type NetworkLogItem = z.infer<typeof NetworkLogItem>

/** How many decisions of a runtime are kept: the newest. */
export const keptDecisions = 10_000

/** The query of a network log. */
export const NetworkLogQuery = z.strictObject({
  cursor: z.coerce
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .default(0)
    .describe('Give what follows this cursor.'),
  follow: z.enum(['true', 'false', '1', '0']).default('false').describe('Stay until the runtime has ended.'),
  denied: z.enum(['true', 'false', '1', '0']).default('false').describe('Only what was denied.'),
})

/** The policy that what was denied would have needed. */
export const SuggestedPolicy = z
  .object({
    add: z.array(PolicyRule).describe('The rules that are missing.'),
    policy: PolicyBody.describe('What the runtime has now, with them: the body that would replace it.'),
    remarks: z
      .array(z.object({ host: z.string(), message: z.string() }))
      .describe('What is left out or guessed, and why.'),
    denied: z.number().int().describe('How many denied attempts it is made from.'),
  })
  .meta({ id: 'SuggestedPolicy' })
export type SuggestedPolicy = z.infer<typeof SuggestedPolicy>
