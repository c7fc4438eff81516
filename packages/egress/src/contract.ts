import type { Duplex } from 'node:stream'
import type { RuleProtocol } from '@holt/protocol'

/**
 * The gateway is the only way out of a runtime. It is handed the connections that the runtime's
 * guest makes to its egress socket, and each of them carries HTTP/2: DNS queries (RFC 8484) and one
 * CONNECT for each TCP connection. Whose traffic it is is told by the socket alone; what the guest
 * says is hostile input.
 *
 * A name that the policy allows is answered with a synthetic address, which stands for that name in
 * that runtime and for nothing else. A CONNECT to it is decided on the name; the gateway then
 * resolves the name itself, refuses what is not public, and dials the address that it checked. What
 * the connection then says of itself (SNI, Host) has to be that name. Nothing is allowed but by a
 * rule, and no doubt is a yes.
 */

/** What the gateway writes its log lines to; a pino logger fits. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** The operator's settings: they hold for every runtime. */
export interface EgressSettings {
  /**
   * DNS servers, `ip`, `ip:port` or `[ipv6]:port`; empty: those of the host's `/etc/resolv.conf`.
   */
  readonly resolvers: readonly string[]
  /**
   * Non-public networks (CIDR) that a name may resolve to. A metadata address has to be listed by
   * itself (`/32`, `/128`).
   */
  readonly allowedNetworks: readonly string[]
  /**
   * Where connections to a host really go. TLS that the gateway ends is still verified to `host`.
   */
  readonly overrides: readonly UpstreamOverride[]
  /** CA certificates trusted for verified upstream TLS besides the system's. */
  readonly extraCaPem: string | null
}

/**
 * Sends what is for `host:port` to `toHost:toPort`. The operator's word: the address may be
 * non-public.
 */
export interface UpstreamOverride {
  readonly host: string
  readonly port: number
  /** An address, or a name that the gateway's resolvers know. */
  readonly toHost: string
  readonly toPort: number
}

/** One rule of a policy under the name that the decisions log gives it. */
export interface NamedRule {
  /** Unique in its policy and the same as long as the rule is the same. */
  readonly name: string
  /** As `PolicyRule.host`: a name, `*.name`, a network or `*`. */
  readonly host: string
  readonly ports: readonly number[]
  /** Null: by the port. */
  readonly protocol: RuleProtocol | null
  /** Null: every method. */
  readonly methods: readonly string[] | null
  /** Null: every path. */
  readonly paths: readonly string[] | null
}

/** A `PolicyBody` with its presets resolved. No rules: nothing is allowed. */
export interface EffectivePolicy {
  readonly rules: readonly NamedRule[]
}

/** A secret as the gateway sees it. */
export interface AttachedSecret {
  readonly name: string
  /** Names or `*.names`. */
  readonly hosts: readonly string[]
  /** The one header that it goes into, in small letters. */
  readonly header: string
  /** How the value stands in the header: `Bearer {value}`. */
  readonly format: string
  /** What the runtime's environment holds instead of the value. */
  readonly placeholder: string
  /** The value now; null when it is gone: then the request is refused and nothing is sent. */
  value(): Promise<{ readonly value: string; readonly version: number } | null>
}

/** The authority whose certificates a runtime trusts. The key never enters the runtime. */
export interface RuntimeCa {
  readonly certificatePem: string
  readonly privateKeyPem: string
}

/** The process inside that asked, as the guest tells it: advisory. */
export interface AskingProcess {
  readonly pid: number
  readonly name: string
  readonly uid: number
}

/** Why something was not allowed; it stands where an allowed decision has the rule's name. */
export type DenialReason =
  /** No rule allows this name or address at this port. */
  | 'no_rule'
  /**
   * The name resolves to nothing but addresses that are not public, or the address is not public.
   */
  | 'non_public'
  /** A synthetic address that stands for no name. */
  | 'unknown_address'
  /** The authority of the CONNECT, or the DNS message, is not well formed. */
  | 'bad_request'
  /** Too many connections or requests of this runtime at once. */
  | 'limit'
  /** The name does not exist, or no resolver answered. */
  | 'name_not_found'
  | 'resolver_failed'
  /** Nobody listens there, no route leads there, or it did not answer in time. */
  | 'upstream_refused'
  | 'upstream_unreachable'
  | 'upstream_timeout'
  /** The rule is for TLS or HTTP and the bytes are something else, or nothing came in time. */
  | 'protocol_mismatch'
  | 'sni_missing'
  | 'sni_mismatch'
  | 'host_mismatch'
  /** The request is not well formed, or could be read in two ways. */
  | 'bad_http'
  /** No rule allows this method and path. */
  | 'request_denied'
  /**
   * The rule needs TLS to be terminated, and this gateway cannot, or there is no name to do it for.
   */
  | 'termination_unavailable'
  /** Verified TLS to the name failed. */
  | 'upstream_tls_failed'
  | 'secret_unavailable'
  /** The connection was open when the policy stopped allowing it. */
  | 'policy_changed'

/** One line of the decisions log. */
export interface Decision {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly type: 'dns' | 'connect' | 'request' | 'close'
  /** The name that was asked for; odd bytes are escaped as `\DDD`. Null for an address. */
  readonly name: string | null
  /** The upstream address, or the literal that was dialled; null when there was none yet. */
  readonly address: string | null
  readonly port: number | null
  readonly allowed: boolean
  /** The rule's name, or the reason of the denial. */
  readonly rule: string
  readonly method?: string
  /** Without the query. */
  readonly path?: string
  /** Bytes out of the runtime, of a connection that ended. */
  readonly bytes_sent?: number
  /** Bytes into the runtime, of a connection that ended. */
  readonly bytes_received?: number
  readonly process: AskingProcess | null
  /** The name of the secret that was put in. */
  readonly secret?: string
}

/**
 * What the gateway can see of a connection: nothing, the TLS server name, the Host of each request,
 * or whole requests.
 */
export type Inspection = 'none' | 'sni' | 'host' | 'terminated'

/** What would happen to a connection, without making it. */
export interface TestedDecision {
  readonly allowed: boolean
  /** The rule's name, or the reason of the denial. */
  readonly rule: string
  readonly inspection: Inspection | null
  /** What the name resolves to now, as far as it may be dialled. */
  readonly addresses: readonly string[]
  /** One sentence for people. */
  readonly detail: string
}

/** One synthetic address and the name that it stands for. */
export interface SyntheticAddress {
  readonly address: string
  readonly name: string
}

/** Everything that `Gateway.attach` needs to know of a runtime or build. */
export interface AttachOptions {
  readonly id: string
  readonly policy: EffectivePolicy
  readonly secrets: readonly AttachedSecret[]
  readonly ca: RuntimeCa
  /**
   * Keeps synthetic addresses over a restart of the service, for programs inside that remember
   * them. Default: they are forgotten.
   */
  readonly addresses?: {
    /** Oldest first; what does not fit the table's form is left out. */
    readonly known: readonly SyntheticAddress[]
    onAssigned(assigned: SyntheticAddress): void
  }
  /** Called for each decision, at most some hundred times a second. It must not throw. */
  onDecision(decision: Decision): void
}

/** Bytes out of a runtime and into it. */
export interface Traffic {
  readonly sent: number
  readonly received: number
}

/** One runtime's way out. */
export interface RuntimeEgress {
  /** Serves a connection that the guest made to the egress socket. */
  accept(connection: Duplex): void
  /**
   * Puts a new policy or new secrets in force for all that follows, and cuts open connections that
   * they no longer allow before it returns.
   */
  update(change: { readonly policy?: EffectivePolicy; readonly secrets?: readonly AttachedSecret[] }): void
  /** Decides without connecting. It resolves the name when a rule allows it. */
  test(target: { host: string; port: number; method?: string; path?: string }): Promise<TestedDecision>
  /**
   * What its connections have carried so far: while this stands still, nothing leaves and nothing
   * comes.
   */
  readonly traffic: Traffic
  /** Connections that are open now. */
  readonly openConnections: number
  /** Cuts everything. What is accepted later is closed at once. */
  close(): void
}
