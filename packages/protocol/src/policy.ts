import { z } from 'zod'
import { idSchema } from './ids.ts'
import { nameBesideId } from './name.ts'
import { PolicyBody, PolicyRule, presetNames } from './network-policy.ts'
import { Timestamp } from './page.ts'
import { Text } from './text.ts'

/** The ways in which the gateway inspects connections. */
export const Inspection = z
  .enum(['none', 'sni', 'host', 'terminated'])
  .describe(
    '`none`: bytes pass unread. `sni`: the name that TLS asks for, and nothing after it. `host`: each request of plain HTTP. `terminated`: TLS ends at the gateway, which reads each request.',
  )

/** The data that the gateway sees of a rule's connections, so that its limits are visible. */
export const RuleInspection = z
  .object({
    rule: z.string().describe('The name of the rule, as the log has it.'),
    host: z.string().describe("The rule's host, or the narrower host of a secret below it."),
    ports: z.array(z.number().int()).describe('The ports of the rule.'),
    inspection: Inspection.describe(
      'What the gateway sees. `none`: bytes pass unread. `sni`: the name that TLS asks for. `host`: each request of plain HTTP. `terminated`: TLS ends at the gateway, which reads each request.',
    ),
    secrets: z.array(z.string()).describe('The secrets that are put in there, by name.'),
    unseen: z.string().describe('What cannot be seen, in a sentence.'),
  })
  .meta({ id: 'RuleInspection' })
export type RuleInspection = z.infer<typeof RuleInspection>

const policyName = nameBesideId('policy').describe("Unique among the project's policies.")

/** The body of a new policy. */
export const CreatePolicy = PolicyBody.safeExtend({ name: policyName }).meta({
  id: 'CreatePolicy',
  examples: [{ name: 'packages', include: ['npm', 'pypi'] }],
})
export type CreatePolicyInput = z.input<typeof CreatePolicy>

/** The body that replaces a policy. */
export const ReplacePolicy = PolicyBody.safeExtend({
  name: policyName.optional().describe('Renames it; absent: it keeps its name.'),
}).meta({ id: 'ReplacePolicy', examples: [{ include: ['npm', 'pypi'] }] })
export type ReplacePolicyInput = z.input<typeof ReplacePolicy>

const policyFields = {
  allow: z.array(PolicyRule).describe('The rules.'),
  include: z.array(z.enum(presetNames)).describe('Presets: named groups of hosts, such as `npm`.'),
  allow_all_hosts: z.boolean().describe('True if a rule may allow `*`, every public host.'),
}

/** The content of a policy, and the data of it that the gateway can see. */
export const PolicyContent = z
  .object({
    ...policyFields,
    inspection: z.array(RuleInspection).describe('For each rule, what the gateway sees of its connections.'),
  })
  .meta({ id: 'PolicyContent' })
export type PolicyContent = z.infer<typeof PolicyContent>

/** A stored policy. */
export const Policy = z
  .object({
    policy_id: idSchema('policy').describe('The id of the policy.'),
    name: z.string().describe("Unique among the project's policies."),
    ...policyFields,
    inspection: z.array(RuleInspection).describe('For each rule, what the gateway sees of its connections.'),
    revision: z.number().int().describe('1 at first, one more with each replacement.'),
    created_at: Timestamp.describe('When it was stored (RFC 3339 UTC with milliseconds).'),
    updated_at: Timestamp.describe('When it was replaced last (RFC 3339 UTC with milliseconds).'),
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
          host: z.string().describe('A host name; `*.name` for every name below it.'),
          ports: z.array(z.number().int()).describe('The ports.'),
          why: z.string().describe('What the host is for.'),
        }),
      )
      .describe('What the preset allows.'),
  })
  .meta({ id: 'PolicyPreset' })
export type PolicyPreset = z.infer<typeof PolicyPreset>

/** The policy of a runtime: a stored one, one of its own, or none. */
export const PolicyRef = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('stored').describe('A stored policy.'),
      policy_id: idSchema('policy').describe('The id of the policy.'),
      name: z.string().nullable().describe('Its name; null where it has been deleted since the runtime ended.'),
    }),
    z.object({ type: z.literal('inline').describe('A policy that the runtime alone has.') }),
  ])
  .meta({ id: 'PolicyRef' })
export type PolicyRef = z.infer<typeof PolicyRef>

/** The policy in a request: a stored one by name or id, an inline one, or null for no network. */
export const WantedPolicy = z
  .union([Text.min(1).max(63), PolicyBody])
  .nullable()
  .describe('A stored policy by name or id, or one written out. Null: nothing on the network can be reached.')
export type WantedPolicy = z.output<typeof WantedPolicy>
