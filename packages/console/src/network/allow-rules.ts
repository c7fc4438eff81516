import type { NetworkLogItem, PolicyBodyInput, RuntimeNetwork, SuggestedPolicy } from '@holt/sdk'

/** A line of a network log: an attempt, and the decision about it. */
export type Decision = Extract<NetworkLogItem, { readonly allowed: boolean }>

/** A rule of a policy. */
export type Rule = SuggestedPolicy['add'][number]

/** The rules that would allow something, and what to know before they are added. */
export interface Allowing {
  readonly rules: readonly Rule[]
  readonly remarks: readonly string[]
}

/** Returns all rules of a suggestion. */
export function rulesOfAll({ add, remarks }: SuggestedPolicy): Allowing {
  return { rules: add, remarks: remarks.map(({ host, message }) => `${host} ${message}`) }
}

/**
 * Returns the narrowest rule that would allow one line: its host with its port, and for a refused
 * request also its method and path. The service says which hosts a rule can name.
 */
export function rulesOfLine(line: Decision, { add, remarks }: SuggestedPolicy): Allowing {
  const host = line.name ?? line.address
  const own = remarks.filter((remark) => remark.host === host).map(({ message }) => `${host} ${message}`)
  const request = line.rule === 'request_denied' ? ruleOfRequest(line) : null
  if (request !== null) return { rules: [request], remarks: own }
  const suggested = add.find((rule) => rule.host === host || rule.host === `${host}/32`)
  if (suggested === undefined) return { rules: [], remarks: own }
  const { port } = line
  const ports = port !== null && suggested.ports.includes(port) ? [port] : suggested.ports
  return { rules: [{ host: suggested.host, ports }], remarks: own }
}

/** Returns the rule for exactly one request; null if a rule cannot name its method or path. */
function ruleOfRequest({ name, port, method, path }: Decision): Rule | null {
  if (name === null || port === null || method === null || path === null) return null
  // A final * would stand for anything.
  if (!/^[A-Z]{1,20}$/.test(method) || !/^\/[\x21-\x7e]{0,1022}$/.test(path) || path.endsWith('*')) return null
  return { host: name, ports: [port], methods: [method], paths: [path] }
}

/** Returns a rule in a line, as people read it: `api.example.com:443 GET /v1`. */
export function ruleText({ host, ports, all_ports, protocol, methods = [], paths = [] }: Rule): string {
  const at = all_ports === true ? 'any port' : ports.join(',')
  return [`${host}:${at}`, ...(protocol === undefined ? [] : [`(${protocol})`]), ...methods, ...paths].join(' ')
}

/** Returns a policy with more rules, as the body that replaces it. Null: there is none so far. */
export function widened(
  current: Pick<NonNullable<RuntimeNetwork['policy']>, 'allow' | 'include' | 'allow_all_hosts' | 'deny'> | null,
  rules: readonly Rule[],
): PolicyBodyInput {
  if (current === null) return { allow: [...rules] }
  const { allow, include, allow_all_hosts, deny } = current
  return { allow: [...allow, ...rules], include, allow_all_hosts, deny }
}
