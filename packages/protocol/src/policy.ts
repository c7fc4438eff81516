import { z } from 'zod'
import { Etag } from './etag.ts'
import { idSchema } from './ids.ts'
import { nameBesideId } from './name.ts'
import { PolicyBody, PolicyRule, presetNames } from './network-policy.ts'
import { Timestamp } from './page.ts'
import { Text } from './text.ts'

/** The ways in which the gateway inspects connections. */
export const Inspection = z
  .enum(['none', 'sni', 'host', 'terminated'])
  .describe(
    'The part of a connection that the gateway reads. `none`: nothing. `sni`: the server name of TLS. `host`: each plain HTTP request. `terminated`: each request, because TLS ends at the gateway.',
  )

/** The data that the gateway sees of a rule's connections, so that its limits are visible. */
export const RuleInspection = z
  .object({
    rule: z.string().describe('The name of the rule, as in the network log.'),
    host: z.string().describe('The host of the rule, or the narrower host of a secret.'),
    ports: z.array(z.number().int()).describe('The ports of the rule.'),
    other_ports: z
      .boolean()
      .describe('True: this is also for every port that no other entry of the rule lists. The rule has `all_ports`.'),
    inspection: Inspection.describe(
      'The part of a connection that the gateway reads. `none`: nothing. `sni`: the server name of TLS. `host`: each plain HTTP request. `terminated`: each request, because TLS ends at the gateway.',
    ),
    secrets: z.array(z.string()).describe('The names of the secrets that the gateway inserts for this host.'),
    unseen: z.string().describe('A sentence that says what the gateway cannot see.'),
  })
  .meta({ id: 'RuleInspection' })
export type RuleInspection = z.infer<typeof RuleInspection>

const policyName = nameBesideId('policy').describe('The name of the policy, unique in the project.')

/** The body of a new policy. */
export const CreatePolicy = PolicyBody.safeExtend({ name: policyName }).meta({
  id: 'CreatePolicy',
  examples: [{ name: 'packages', include: ['npm', 'pypi'] }],
})
export type CreatePolicyInput = z.input<typeof CreatePolicy>

/** The body that replaces a policy. */
export const ReplacePolicy = PolicyBody.safeExtend({
  name: policyName.optional().describe('The new name of the policy. Default: the current name.'),
}).meta({ id: 'ReplacePolicy', examples: [{ include: ['npm', 'pypi'] }] })
export type ReplacePolicyInput = z.input<typeof ReplacePolicy>

const policyFields = {
  allow: z.array(PolicyRule).describe('The rules.'),
  include: z.array(z.enum(presetNames)).describe('The included presets: named groups of hosts, such as `npm`.'),
  allow_all_hosts: z.boolean().describe('True if a rule may allow `*`, which is every public host.'),
  deny: z.array(z.string()).describe('The denied networks: no rule reaches an address in them.'),
}

/** The content of a policy, and the data of it that the gateway can see. */
export const PolicyContent = z
  .object({
    ...policyFields,
    inspection: z.array(RuleInspection).describe('For each rule, the part of its connections that the gateway reads.'),
  })
  .meta({ id: 'PolicyContent' })
export type PolicyContent = z.infer<typeof PolicyContent>

/** A stored policy. */
export const Policy = z
  .object({
    policy_id: idSchema('policy').describe('The id of the policy.'),
    name: z.string().describe('The name of the policy, unique in the project.'),
    ...policyFields,
    inspection: z.array(RuleInspection).describe('For each rule, the part of its connections that the gateway reads.'),
    revision: z
      .number()
      .int()
      .describe('The revision of the policy: 1 for a new policy, and one more after each replacement.'),
    etag: Etag,
    created_at: Timestamp.describe('When the policy was created (RFC 3339 UTC with milliseconds).'),
    updated_at: Timestamp.describe('When the policy was last replaced (RFC 3339 UTC with milliseconds).'),
  })
  .meta({ id: 'Policy' })
export type Policy = z.infer<typeof Policy>

/** A preset: a named group of related hosts that policies include. */
export const PolicyPreset = z
  .object({
    name: z.enum(presetNames).describe('The name of the preset, for `include`.'),
    hosts: z
      .array(
        z.object({
          host: z.string().describe('A host name, or `*.name` for every name below it.'),
          ports: z.array(z.number().int()).describe('The allowed ports.'),
          why: z.string().describe('A sentence that says what the host is for.'),
        }),
      )
      .describe('The hosts that the preset allows.'),
  })
  .meta({ id: 'PolicyPreset' })
export type PolicyPreset = z.infer<typeof PolicyPreset>

/** The policy of a runtime: a stored one, one of its own, or none. */
export const PolicyRef = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('stored').describe('A stored policy.'),
      policy_id: idSchema('policy').describe('The id of the policy.'),
      name: z.string().nullable().describe('The name of the policy; null if it was deleted after the runtime ended.'),
    }),
    z.object({ type: z.literal('inline').describe('A policy that belongs to this runtime only.') }),
  ])
  .meta({ id: 'PolicyRef' })
export type PolicyRef = z.infer<typeof PolicyRef>

/** The policy in a request: a stored one by name or id, an inline one, or null for no network. */
export const WantedPolicy = z
  .union([Text.min(1).max(63), PolicyBody])
  .nullable()
  .describe('A stored policy by name or id, or an inline policy. Null: the runtime reaches nothing.')
export type WantedPolicy = z.output<typeof WantedPolicy>
