import { PolicyBody, secretDefaults } from '@holt/protocol'
import type { TemplateRow } from '../../foundation/store/tables.ts'
import type { Resources } from '../resources.ts'

/**
 * Returns the network policy of a runtime of an agent template whose create does not name one. It
 * allows the API of each vendor of the template whose secret the runtime has, by its well-known
 * name. Nothing else is allowed. Returns null without such a secret.
 */
export function vendorPolicy(
  { agents }: Pick<Resources, 'agents'>,
  template: TemplateRow,
  secrets: readonly string[],
): PolicyBody | null {
  const vendors = (agents.of(template)?.vendors ?? []).filter((vendor) => secrets.includes(vendor))
  const hosts = vendors.flatMap((vendor) => secretDefaults(vendor)?.hosts ?? [])
  return hosts.length === 0 ? null : PolicyBody.parse({ allow: hosts.map((host) => ({ host })) })
}
