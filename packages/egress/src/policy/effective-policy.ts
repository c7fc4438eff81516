import type { PolicyBody, PolicyRule } from '@holt/protocol'
import type { EffectivePolicy, NamedRule } from '../contract/gateway-contract.ts'
import { presets } from './presets.ts'

/**
 * The maximum number of characters of a rule's name. A longer name is cut and ends in its ordinal.
 */
const maxNameLength = 200

/**
 * Resolves the presets of a policy and names its rules. The name says what the rule allows:
 * `api.example.com:443`, with the methods and paths if it has some, and `*` for every port. A
 * preset's rule has its prefix, such as `npm/registry.npmjs.org:443`. Duplicate rules are merged.
 */
export function makeEffectivePolicy(body: PolicyBody): EffectivePolicy {
  const own = body.allow.map((rule) => nameRule('', rule))
  const included = body.include.flatMap((preset) =>
    presets[preset].map(({ host, ports }) => nameRule(`${preset}/`, { host, ports: [...ports] })),
  )
  const rules = new Map([...own, ...included].map((rule) => [rule.name, rule]))
  return {
    rules: [...rules.values()].map((rule, index) => ({ ...rule, name: shorten(rule.name, index) })),
    deny: body.deny,
  }
}

function nameRule(prefix: string, rule: PolicyRule): NamedRule {
  const allPorts = rule.all_ports === true
  const parts = [
    `${prefix}${rule.host}:${allPorts ? '*' : rule.ports.join(',')}`,
    rule.protocol ?? '',
    rule.methods?.join(',') ?? '',
    rule.paths?.join(',') ?? '',
  ]
  return {
    name: parts.filter((part) => part !== '').join(' '),
    host: rule.host,
    ports: rule.ports,
    allPorts,
    protocol: rule.protocol ?? null,
    methods: rule.methods ?? null,
    paths: rule.paths ?? null,
  }
}

function shorten(name: string, index: number): string {
  return name.length <= maxNameLength ? name : `${name.slice(0, maxNameLength)}... #${index + 1}`
}
