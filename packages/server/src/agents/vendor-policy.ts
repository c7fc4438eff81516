import { PolicyBody, secretDefaults } from '@holt/protocol'
import type { Service } from '../service.ts'
import type { TemplateRow } from '../store/tables.ts'

/**
 * What a runtime of an agent template may reach where its create says nothing of the network: the
 * API of each vendor that the template is for and whose secret it is given, by the secret's
 * well-known name, and nothing else. Null without such a secret.
 */
export function vendorPolicy(
  { agents }: Pick<Service, 'agents'>,
  template: TemplateRow,
  secrets: readonly string[],
): PolicyBody | null {
  const vendors = (agents.of(template)?.vendors ?? []).filter((vendor) => secrets.includes(vendor))
  const hosts = vendors.flatMap((vendor) => secretDefaults(vendor)?.hosts ?? [])
  return hosts.length === 0 ? null : PolicyBody.parse({ allow: hosts.map((host) => ({ host })) })
}
