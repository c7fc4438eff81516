import { z } from 'zod'
import { Etag } from './etag.ts'
import { idSchema } from './ids.ts'
import { PolicyBody, PolicyRule } from './network-policy.ts'
import { Timestamp } from './page.ts'
import { Inspection, PolicyContent, PolicyRef, WantedPolicy } from './policy.ts'

/** A secret of a runtime. */
export const RuntimeSecret = z
  .object({
    name: z.string().describe('The name of the secret.'),
    env_name: z
      .string()
      .describe('The environment variable with the placeholder, or with the value itself if `inside` is true.'),
    inside: z.boolean().describe('True if the runtime has the real value of the secret.'),
    hosts: z.array(z.string()).describe('The only hosts that the value is sent to.'),
    header: z.string().nullable().describe('The header that carries the value; null if `inside` is true.'),
    available: z
      .boolean()
      .describe('False if the secret was deleted. The gateway refuses requests with its placeholder.'),
  })
  .meta({ id: 'RuntimeSecret' })
export type RuntimeSecret = z.infer<typeof RuntimeSecret>

/** The present network state of a runtime. */
export const RuntimeNetwork = z
  .object({
    runtime_id: idSchema('runtime').describe('The id of the runtime.'),
    network_policy: PolicyRef.nullable().describe(
      'The network policy of the runtime; null if it has none and reaches nothing.',
    ),
    policy: PolicyContent.nullable().describe('The content of the policy; null if the runtime reaches nothing.'),
    secrets: z.array(RuntimeSecret).describe('The secrets of the runtime.'),
    etag: Etag,
    updated_at: Timestamp.describe('When this last changed (RFC 3339 UTC with milliseconds).'),
  })
  .meta({ id: 'RuntimeNetwork' })
export type RuntimeNetwork = z.infer<typeof RuntimeNetwork>

/** The body of a change of a runtime's policy. */
export const SetRuntimeNetwork = z
  .strictObject({
    network_policy: WantedPolicy.describe(
      'The new policy: a stored policy by name or id, or an inline policy. Null: the runtime reaches nothing.',
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
      .describe('The host name or IPv4 address to test.'),
    port: z.number().int().min(1).max(65_535).default(443).describe('The port to test, 1 to 65535. Default 443.'),
    method: z
      .string()
      .regex(/^[A-Z]{1,20}$/, 'must be a method in capitals, such as GET')
      .optional()
      .describe('The HTTP method to test, in capitals. Default: only the connection is tested.'),
    path: z
      .string()
      .max(1024)
      .regex(/^\/[\x21-\x7e]*$/, 'must begin with / and have no spaces')
      .optional()
      .describe('The HTTP path to test. Default: only the connection is tested.'),
  })
  .meta({ id: 'TestNetwork', examples: [{ host: 'pypi.org' }] })
export type TestNetworkInput = z.input<typeof TestNetwork>
export type TestNetwork = z.output<typeof TestNetwork>

/** The outcome that a connection would have. */
export const TestedNetwork = z
  .object({
    allowed: z.boolean().describe('True if the gateway would allow the connection or request.'),
    rule: z
      .string()
      .describe(
        'The rule that allows it, or the reason for the denial, such as `no_rule`, `no_policy` or `non_public`.',
      ),
    inspection: Inspection.nullable().describe(
      'The part of the connection that the gateway would read; null if it is denied.',
    ),
    addresses: z.array(z.string()).describe('The resolved addresses that the runtime may reach.'),
    detail: z.string().describe('A sentence for people that explains the decision.'),
  })
  .meta({ id: 'TestedNetwork' })
export type TestedNetwork = z.infer<typeof TestedNetwork>

const cursor = z.number().int().describe('The position of this item. To resume after it, send it as `?cursor=`.')

/** A connection attempt of a runtime, with the decision about it. */
export const NetworkDecision = z.object({
  type: z
    .enum(['dns', 'connect', 'request', 'close'])
    .describe(
      'The kind of decision. `dns`: a DNS query. `connect`: a new connection. `request`: a request in a terminated connection. `close`: the end of a connection.',
    ),
  cursor,
  at: Timestamp.describe('When the decision was made (RFC 3339 UTC with milliseconds).'),
  name: z.string().nullable().describe('The requested host name; null if only the address is known.'),
  address: z.string().nullable().describe('The address of the destination; null if none is known.'),
  port: z.number().int().nullable().describe('The port; null for a DNS query.'),
  allowed: z.boolean().describe('True if the gateway allowed it.'),
  rule: z.string().describe('The rule that allowed it, or the reason for the denial.'),
  method: z.string().nullable().describe('The method of the request; null if the gateway did not read a request.'),
  path: z
    .string()
    .nullable()
    .describe('The path of the request without its query; null if the gateway did not read a request.'),
  bytes_sent: z.number().int().nullable().describe('The bytes that the runtime sent; null until the connection ends.'),
  bytes_received: z
    .number()
    .int()
    .nullable()
    .describe('The bytes that the runtime received; null until the connection ends.'),
  process: z
    .object({
      pid: z.number().int().describe('The process id inside the runtime.'),
      name: z.string().describe('The name of the program.'),
      uid: z.number().int().describe('The user id of the process.'),
    })
    .nullable()
    .describe(
      'The process that made the attempt, as reported by the runtime. It is not verified. Null if it is not known.',
    ),
  secret: z.string().nullable().describe('The name of the secret that the gateway inserted; null if it inserted none.'),
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
    z.object({ type: z.literal('end').describe('The last item of the log.'), cursor }),
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
    .describe('Answer only decisions after this cursor. Default 0: every decision that is kept.'),
  follow: z
    .enum(['true', 'false', '1', '0'])
    .default('false')
    .describe('True: stream decisions until the runtime ends. Default false.'),
  denied: z.enum(['true', 'false', '1', '0']).default('false').describe('True: answer only denials. Default false.'),
  since: z.iso
    .datetime({ offset: true })
    .optional()
    .describe('Answer only decisions from this time on (RFC 3339). Default: any time.'),
})

/** The policy that would allow the denied connections. */
export const SuggestedPolicy = z
  .object({
    add: z.array(PolicyRule).describe('The rules to add.'),
    policy: PolicyBody.describe(
      'The current policy of the runtime together with the added rules: the body to replace it with.',
    ),
    remarks: z
      .array(
        z.object({
          host: z.string().describe('The host that the remark is about.'),
          message: z.string().describe('The remark, a sentence for people.'),
        }),
      )
      .describe('Remarks on hosts that are left out or guessed, with the reason.'),
    denied: z.number().int().describe('The number of denied attempts that the suggestion is based on.'),
  })
  .meta({ id: 'SuggestedPolicy' })
export type SuggestedPolicy = z.infer<typeof SuggestedPolicy>
