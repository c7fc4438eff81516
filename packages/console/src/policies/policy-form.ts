import type { Policy, PolicyBodyInput } from '@holt/sdk'

/** A rule as a person edits it. */
export interface RuleForm {
  /** Tells the rules of a form apart while some are added and removed. */
  readonly key: number
  readonly host: string
  /** Spaces or commas separate the ports. Empty: 443. */
  readonly ports: string
  readonly allPorts: boolean
  /** Empty: by the port. */
  readonly protocol: string
  readonly methods: string
  readonly paths: string
}

/** A policy as a person edits it. */
export interface PolicyForm {
  readonly rules: readonly RuleForm[]
  readonly include: readonly string[]
  readonly allowAllHosts: boolean
  /** Spaces, commas or lines separate the networks. */
  readonly deny: string
}

/** The form of a policy that allows nothing. */
export const emptyPolicy: PolicyForm = { rules: [], include: [], allowAllHosts: false, deny: '' }

/** Returns an empty rule, beside those of a form. */
export function newRule({ rules }: PolicyForm): RuleForm {
  const key = Math.max(-1, ...rules.map((rule) => rule.key)) + 1
  return { key, host: '', ports: '', allPorts: false, protocol: '', methods: '', paths: '' }
}

/** Returns the form of a stored policy. */
export function formOfPolicy({ allow, include, allow_all_hosts, deny }: Policy): PolicyForm {
  const rules = allow.map(({ host, ports, all_ports = false, protocol = '', methods = [], paths = [] }, key) => ({
    key,
    host,
    ports: ports.join(' '),
    allPorts: all_ports,
    protocol,
    methods: methods.join(' '),
    paths: paths.join(' '),
  }))
  return { rules, include, allowAllHosts: allow_all_hosts, deny: deny.join('\n') }
}

/** Returns the body of a policy. The service itself checks it, and names each wrong field. */
export function bodyOfPolicy({ rules, include, allowAllHosts, deny }: PolicyForm): PolicyBodyInput {
  return {
    allow: rules.map(({ host, ports, allPorts, protocol, methods, paths }) => ({
      host: host.trim(),
      ...(ports.trim() === '' ? {} : { ports: wordsOf(ports).map(numberOf) }),
      ...(allPorts ? { all_ports: true } : {}),
      ...(protocol === '' ? {} : { protocol: protocol as 'tls' | 'http' | 'tcp' }),
      ...(methods.trim() === '' ? {} : { methods: wordsOf(methods) }),
      ...(paths.trim() === '' ? {} : { paths: wordsOf(paths) }),
    })),
    include: include as PolicyBodyInput['include'] & string[],
    allow_all_hosts: allowAllHosts,
    deny: wordsOf(deny),
  }
}

function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '')
}

/** Returns a port. Another text stays what it is, so that the service names it as wrong. */
function numberOf(text: string): number {
  return /^\d+$/.test(text) ? Number(text) : (text as unknown as number)
}
