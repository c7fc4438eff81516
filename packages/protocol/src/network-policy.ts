import { z } from 'zod'

/** The maximum number of characters of a DNS name (RFC 1035, 2.3.4), without the final dot. */
const maxNameLength = 253

const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?'
const namePattern = new RegExp(`^${label}(?:\\.${label})+$`)

/**
 * Returns true for a canonical host name: lower case, at least two labels, no final dot, and not an
 * IPv4 address.
 */
export function isHostName(text: string): boolean {
  return text.length <= maxNameLength && namePattern.test(text) && !/\.\d+$/.test(text)
}

/**
 * The presets: named groups of related hosts. `holt policy presets` and the docs list the hosts of
 * each.
 */
export const presetNames = ['npm', 'pypi', 'github', 'debian', 'anthropic', 'openai', 'google'] as const

/** The forms of a rule's host. */
export type HostForm = 'any' | 'name' | 'suffix' | 'network'

/**
 * Returns the form of a rule's canonical host; null if it has none of them. A network is an IPv4 or
 * IPv6 prefix. A single address is written with /32 or /128.
 */
export function hostForm(host: string): HostForm | null {
  if (host === '*') return 'any'
  if (isHostName(host)) return 'name'
  if (host.startsWith('*.') && isHostName(host.slice(2))) return 'suffix'
  return isNetwork(host) ? 'network' : null
}

/** Returns true for a canonical CIDR prefix whose host bits are zero. */
export function isNetwork(text: string): boolean {
  const [address, length] = splitPrefix(text)
  if (address === null) return false
  return z.union([z.cidrv4(), z.cidrv6()]).safeParse(text).success && hostBitsAreZero(address, length)
}

const Host = z
  .string()
  .max(maxNameLength + 2)
  .transform((text) => text.toLowerCase())
  .refine(
    (host) => hostForm(host) !== null,
    'must be a host name such as api.example.com, *.example.com (any name below it), a network such as 203.0.113.0/24, or *',
  )

const Port = z.number().int().min(1).max(65_535)

/**
 * The ways in which the gateway reads a connection. `tls`: the requested server name must match the
 * rule. `http`: the Host of each request must match too. `tcp`: bytes pass unread.
 */
export const RuleProtocol = z.enum(['tls', 'http', 'tcp'])
export type RuleProtocol = z.infer<typeof RuleProtocol>

/** Returns the default protocol of a rule, by its port. */
export function protocolOf(port: number): RuleProtocol {
  if (port === 443) return 'tls'
  return port === 80 ? 'http' : 'tcp'
}

const Method = z.string().regex(/^[A-Z]{1,20}$/, 'must be a method in capitals, such as GET')

const PathPattern = z
  .string()
  .max(1024)
  .regex(/^\/[\x21-\x7e]*$/, 'must begin with / and have no spaces; a final * stands for anything')

/** One allowed destination. */
export const PolicyRule = z
  .strictObject({
    host: Host.describe(
      'The allowed host: a name, `*.name` for every name below it but not the name itself, a network (CIDR), or `*` for every public host. `*` needs `allow_all_hosts`.',
    ),
    ports: z.array(Port).min(1).max(64).default([443]).describe('The allowed ports, 1 to 65535. Default 443.'),
    all_ports: z.boolean().optional().describe('True: every TCP port is allowed, besides `ports`. Default false.'),
    protocol: RuleProtocol.optional().describe(
      'The protocol of the connections. Default: `tls` for port 443, `http` for port 80, else `tcp`.',
    ),
    methods: z
      .array(Method)
      .min(1)
      .max(16)
      .optional()
      .describe('The allowed HTTP methods. The gateway terminates TLS to read the requests. Default: every method.'),
    paths: z
      .array(PathPattern)
      .min(1)
      .max(64)
      .optional()
      .describe(
        'The allowed paths. A final `*` allows every path with that prefix. The gateway terminates TLS to read the requests. Default: every path.',
      ),
  })
  .meta({ id: 'PolicyRule' })
export type PolicyRule = z.output<typeof PolicyRule>

const DeniedNetwork = z
  .string()
  .max(64)
  .transform((text) => text.toLowerCase())
  .refine(isNetwork, 'must be a network such as 203.0.113.0/24. A single address is written with /32 or /128')

/** The destinations that a runtime may reach. Everything else is denied. */
export const PolicyBody = z
  .strictObject({
    allow: z.array(PolicyRule).max(256).default([]).describe('The rules of the policy. Default: none.'),
    include: z
      .array(z.enum(presetNames))
      .max(presetNames.length)
      .default([])
      .describe('The presets to include: named groups of hosts, such as `npm`. Default: none.'),
    allow_all_hosts: z
      .boolean()
      .default(false)
      .describe('True: a rule may allow `*`. Private and metadata addresses stay blocked. Default false.'),
    deny: z
      .array(DeniedNetwork)
      .max(256)
      .default([])
      .describe(
        'The denied networks (CIDR). No rule reaches an address in them, by itself or through a name. Default: none.',
      ),
  })
  .superRefine((policy, context) => {
    for (const [index, rule] of policy.allow.entries()) {
      if (rule.host === '*' && !policy.allow_all_hosts) {
        const message = 'every public host is allowed only together with allow_all_hosts: true'
        context.addIssue({ code: 'custom', path: ['allow', index, 'host'], message })
      }
      if (rule.protocol === 'tcp' && (rule.methods !== undefined || rule.paths !== undefined)) {
        const message = 'tcp is passed on unread: methods and paths need tls or http'
        context.addIssue({ code: 'custom', path: ['allow', index, 'protocol'], message })
      }
    }
  })
  .meta({ id: 'PolicyBody' })
export type PolicyBody = z.output<typeof PolicyBody>
export type PolicyBodyInput = z.input<typeof PolicyBody>

function splitPrefix(text: string): [address: string | null, length: number] {
  const match = /^([0-9a-f.:]{2,45})\/(0|[1-9]\d{0,2})$/.exec(text)
  return match === null ? [null, 0] : [match[1] ?? null, Number(match[2])]
}

function hostBitsAreZero(address: string, length: number): boolean {
  const bits = address.includes(':') ? bitsOfV6(address) : bitsOfV4(address)
  return bits !== null && !bits.slice(length).includes('1')
}

function bitsOfV4(address: string): string | null {
  const parts = address.split('.').map(Number)
  if (parts.length !== 4 || parts.some((part) => !(part >= 0 && part <= 255))) return null
  return parts.map((part) => part.toString(2).padStart(8, '0')).join('')
}

/** Returns the 128 bits of an IPv6 address in text (RFC 4291, 2.2), embedded IPv4 included. */
function bitsOfV6(address: string): string | null {
  const embedded = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address)
  const tail = embedded === null ? '' : bitsOfV4(embedded[2] ?? '')
  if (tail === null) return null
  const [head = '', rest] = (embedded?.[1]?.replace(/([^:]):$/, '$1') ?? address).split('::', 2)
  const bits = (part: string) =>
    part
      .split(':')
      .filter((group) => group !== '')
      .map((group) => Number.parseInt(group, 16).toString(2).padStart(16, '0'))
      .join('')
  if (rest === undefined) return `${bits(head)}${tail}`
  const end = `${bits(rest)}${tail}`
  return `${bits(head)}${'0'.repeat(Math.max(0, 128 - bits(head).length - end.length))}${end}`
}
