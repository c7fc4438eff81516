import { z } from 'zod'
import { idSchema } from './ids.ts'
import { PolicyBody, PolicyRule } from './network-policy.ts'
import { Timestamp } from './page.ts'
import { Inspection, PolicyContent, PolicyRef, WantedPolicy } from './policy.ts'

/** A secret of a runtime. */
export const RuntimeSecret = z
  .object({
    name: z.string().describe('The name of the secret.'),
    env_name: z.string().describe('The variable that holds the placeholder, or the value itself where it is inside.'),
    inside: z.boolean().describe('True where the real value is in the runtime.'),
    hosts: z.array(z.string()).describe('The only hosts that the value is sent to.'),
    header: z.string().nullable().describe('The header that the value is put into; null where it is inside.'),
    available: z
      .boolean()
      .describe('False where the secret has been deleted: requests that carry its placeholder are refused.'),
  })
  .meta({ id: 'RuntimeSecret' })
export type RuntimeSecret = z.infer<typeof RuntimeSecret>

/** The present network state of a runtime. */
export const RuntimeNetwork = z
  .object({
    runtime_id: idSchema('runtime').describe('The id of the runtime.'),
    network_policy: PolicyRef.nullable().describe('Which policy it has; null: none, so nothing can be reached.'),
    policy: PolicyContent.nullable().describe('What it allows; null: nothing can be reached.'),
    secrets: z.array(RuntimeSecret).describe('The secrets that it has.'),
    updated_at: Timestamp.describe('When this changed last (RFC 3339 UTC with milliseconds).'),
  })
  .meta({ id: 'RuntimeNetwork' })
export type RuntimeNetwork = z.infer<typeof RuntimeNetwork>

/** The body of a change of a runtime's policy. */
export const SetRuntimeNetwork = z
  .strictObject({
    network_policy: WantedPolicy.describe(
      'A stored policy by name or id, or one written out. Null: nothing on the network can be reached.',
    ),
  })
  .meta({ id: 'SetRuntimeNetwork' })
export type SetRuntimeNetworkInput = z.input<typeof SetRuntimeNetwork>
export type SetRuntimeNetwork = z.output<typeof SetRuntimeNetwork>

/** The body of a test: a connection to check against the policy. */
export const TestNetwork = z
  .strictObject({
    host: z
      .string()
      .min(1)
      .max(255)
      .regex(/^[\x21-\x7e]+$/, 'must be a host name or an address')
      .describe('A host name or an IPv4 address.'),
    port: z.number().int().min(1).max(65_535).default(443).describe('The port, 1 to 65535. Default 443.'),
    method: z
      .string()
      .regex(/^[A-Z]{1,20}$/, 'must be a method in capitals, such as GET')
      .optional()
      .describe('The method of a request, in capitals. Absent: only the connection is tested.'),
    path: z
      .string()
      .max(1024)
      .regex(/^\/[\x21-\x7e]*$/, 'must begin with / and have no spaces')
      .optional()
      .describe('The path of a request. Absent: only the connection is tested.'),
  })
  .meta({ id: 'TestNetwork', examples: [{ host: 'pypi.org' }] })
export type TestNetworkInput = z.input<typeof TestNetwork>
export type TestNetwork = z.output<typeof TestNetwork>

/** The outcome that a connection would have. */
export const TestedNetwork = z
  .object({
    allowed: z.boolean().describe('True if the gateway would let it through.'),
    rule: z.string().describe('The rule that allows it, or why it is denied: `no_rule`, `no_policy`, `non_public`...'),
    inspection: Inspection.nullable().describe('What the gateway would see of it; null where it is denied.'),
    addresses: z.array(z.string()).describe('What the name resolves to, as far as it may be reached.'),
    detail: z.string().describe('One sentence for people.'),
  })
  .meta({ id: 'TestedNetwork' })
export type TestedNetwork = z.infer<typeof TestedNetwork>

const cursor = z.number().int().describe('Resume after this item with ?cursor=.')

/** A connection attempt of a runtime, with the decision about it. */
export const NetworkDecision = z.object({
  type: z
    .enum(['dns', 'connect', 'request', 'close'])
    .describe('A name asked for, a connection, a request inside a terminated one, or the end of a connection.'),
  cursor,
  at: Timestamp.describe('When it was decided (RFC 3339 UTC with milliseconds).'),
  name: z.string().nullable().describe('The host name that was asked for; null where only an address is known.'),
  address: z.string().nullable().describe('The upstream address, or the one that was dialled.'),
  port: z.number().int().nullable().describe('The port; null for a DNS question.'),
  allowed: z.boolean().describe('True if the gateway let it through.'),
  rule: z.string().describe('The rule that allowed it, or why it was denied.'),
  method: z.string().nullable().describe('The method of the request; null where it was not read.'),
  path: z.string().nullable().describe('Without the query.'),
  bytes_sent: z.number().int().nullable().describe('Bytes out of the runtime; null until the connection ended.'),
  bytes_received: z.number().int().nullable().describe('Bytes into the runtime; null until the connection ended.'),
  process: z
    .object({
      pid: z.number().int().describe('The process id inside the runtime.'),
      name: z.string().describe('The name of the program.'),
      uid: z.number().int().describe('The number of its user.'),
    })
    .nullable()
    .describe('What the runtime says of the process that asked: its own word, not a fact.'),
  secret: z.string().nullable().describe('The secret that was put in, by name.'),
})
export type NetworkDecision = z.infer<typeof NetworkDecision>

/** An item of a runtime's network log. */
export const NetworkLogItem = z
  .discriminatedUnion('type', [
    NetworkDecision,
    z.object({
      type: z.literal('dropped').describe('Decisions were lost before the cursor.'),
      cursor,
      dropped_items: z.number().int().describe('The number of lost decisions.'),
    }),
    z.object({ type: z.literal('end').describe('The last item: nothing follows.'), cursor }),
  ])
  .meta({ id: 'NetworkLogItem' })
export type NetworkLogItem = z.infer<typeof NetworkLogItem>

/** The number of decisions that are kept for each runtime: the newest. */
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
  since: z.iso.datetime({ offset: true }).optional().describe('Only what was decided then or later.'),
})

/** The policy that would allow the denied connections. */
export const SuggestedPolicy = z
  .object({
    add: z.array(PolicyRule).describe('The rules that are missing.'),
    policy: PolicyBody.describe('What the runtime has now, with them: the body that would replace it.'),
    remarks: z
      .array(
        z.object({
          host: z.string().describe('The host that the remark is about.'),
          message: z.string().describe('The remark, in a sentence.'),
        }),
      )
      .describe('What is left out or guessed, and why.'),
    denied: z.number().int().describe('How many denied attempts it is made from.'),
  })
  .meta({ id: 'SuggestedPolicy' })
export type SuggestedPolicy = z.infer<typeof SuggestedPolicy>
