import { z } from 'zod'
import { idSchema } from './ids.ts'
import { nameBesideId } from './name.ts'
import { PolicyBody, PolicyRule, presetNames } from './network-policy.ts'
import { Timestamp } from './page.ts'
import { Text } from './text.ts'

/** How the gateway looks at connections. */
export const Inspection = z
  .enum(['none', 'sni', 'host', 'terminated'])
  .describe(
    '`none`: bytes pass unread. `sni`: the name that TLS asks for, and nothing after it. `host`: each request of plain HTTP. `terminated`: TLS ends at the gateway, which reads each request.',
  )

/** What the gateway sees of the connections that a rule allows, so that nobody believes it sees more. */
export const RuleInspection = z
  .object({
    rule: z.string().describe('The name of the rule, as the log has it.'),
    host: z.string().describe("The rule's host, or the narrower host of a secret below it."),
    ports: z.array(z.number().int()),
    inspection: Inspection,
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
  allow: z.array(PolicyRule),
  include: z.array(z.enum(presetNames)),
  allow_all_hosts: z.boolean(),
}

/** What a policy allows, and what of it the gateway can see. */
export const PolicyContent = z
  .object({ ...policyFields, inspection: z.array(RuleInspection) })
  .meta({ id: 'PolicyContent' })
export type PolicyContent = z.infer<typeof PolicyContent>

/** A stored policy. */
export const Policy = z
  .object({
    policy_id: idSchema('policy'),
    name: z.string(),
    ...policyFields,
    inspection: z.array(RuleInspection),
    revision: z.number().int().describe('1 at first, one more with each replacement.'),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'Policy' })
export type Policy = z.infer<typeof Policy>

/** A preset: hosts that belong together, under a name that policies include. */
export const PolicyPreset = z
  .object({
    name: z.enum(presetNames),
    hosts: z.array(z.object({ host: z.string(), ports: z.array(z.number().int()), why: z.string() })),
  })
  .meta({ id: 'PolicyPreset' })
export type PolicyPreset = z.infer<typeof PolicyPreset>

/** Which policy a runtime has: a stored one, one of its own, or none. */
export const PolicyRef = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('stored'),
      policy_id: idSchema('policy'),
      name: z.string().nullable().describe('Null where it has been deleted since the runtime ended.'),
    }),
    z.object({ type: z.literal('inline') }),
  ])
  .meta({ id: 'PolicyRef' })
export type PolicyRef = z.infer<typeof PolicyRef>

/** A policy as a request names it: a stored one by name or id, one written out, or null for no network at all. */
export const WantedPolicy = z
  .union([Text.min(1).max(63), PolicyBody])
  .nullable()
  .describe('A stored policy by name or id, or one written out. Null: nothing on the network can be reached.')
export type WantedPolicy = z.output<typeof WantedPolicy>
