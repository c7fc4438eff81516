import type { Duplex } from 'node:stream'
import type { RuleProtocol } from '@holt/protocol'

/**
 * The contract of the gateway, which is the only way out of a runtime.
 *
 * The gateway receives the connections that the runtime's guest makes to its egress socket. Each of
 * them carries HTTP/2: DNS queries (RFC 8484) and one CONNECT for each TCP connection. Only the
 * socket identifies the runtime; the guest's messages are hostile input.
 *
 * The answer for an allowed name is a synthetic address. It stands for that name in that runtime
 * and for nothing else. A CONNECT to it is decided on the name. The gateway then resolves the name
 * itself, refuses addresses that are not public, and dials the address that it checked. The names
 * in the connection (SNI, Host) must be that name. Only a rule allows a connection, and an
 * ambiguous case is refused.
 */

/** The log of the gateway; a pino logger fits. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** The operator's settings, which apply to every runtime. */
export interface EgressSettings {
  /**
   * DNS servers, `ip`, `ip:port` or `[ipv6]:port`. If empty, those of the host's
   * `/etc/resolv.conf`.
   */
  readonly resolvers: readonly string[]
  /**
   * Non-public networks (CIDR) that a name may resolve to. A metadata address has to be listed by
   * itself (`/32`, `/128`).
   */
  readonly allowedNetworks: readonly string[]
  /**
   * The real destinations of connections to a host. TLS that the gateway terminates is still
   * verified to `host`.
   */
  readonly overrides: readonly UpstreamOverride[]
  /** CA certificates trusted for verified upstream TLS besides the system's. */
  readonly extraCaPem: string | null
}

/**
 * A redirection of traffic for `host:port` to `toHost:toPort`. The operator decides, so the address
 * may be non-public.
 */
export interface UpstreamOverride {
  readonly host: string
  readonly port: number
  /** An address, or a name that the gateway's resolvers know. */
  readonly toHost: string
  readonly toPort: number
}

/** One rule of a policy with its name in the decisions log. */
export interface NamedRule {
  /** Unique in its policy, and the same as long as the rule is the same. */
  readonly name: string
  /** A name, `*.name`, a network or `*`, as in `PolicyRule.host`. */
  readonly host: string
  readonly ports: readonly number[]
  /** True: the rule is for every port. */
  readonly allPorts: boolean
  /** Null: the port decides. */
  readonly protocol: RuleProtocol | null
  /** Null: every method. */
  readonly methods: readonly string[] | null
  /** Null: every path. */
  readonly paths: readonly string[] | null
}

/** A `PolicyBody` with its presets resolved. Without rules, nothing is allowed. */
export interface EffectivePolicy {
  readonly rules: readonly NamedRule[]
  /** The networks (CIDR) that no rule reaches. */
  readonly deny: readonly string[]
}

/** A secret in the gateway's form. */
export interface AttachedSecret {
  readonly name: string
  /** Names or `*.names`. */
  readonly hosts: readonly string[]
  /** The one header that it is put into, in lower case. */
  readonly header: string
  /** The form of the value in the header: `Bearer {value}`. */
  readonly format: string
  /** The text in the runtime's environment in place of the value. */
  readonly placeholder: string
  /**
   * Returns the present value, or null if it is gone. The request is then refused and nothing is
   * sent.
   */
  value(): Promise<{ readonly value: string; readonly version: number } | null>
}

/** The authority whose certificates a runtime trusts. The key never enters the runtime. */
export interface RuntimeCa {
  readonly certificatePem: string
  readonly privateKeyPem: string
}

/** The process inside that made the request, as the guest reports it: advisory. */
export interface AskingProcess {
  readonly pid: number
  readonly name: string
  readonly uid: number
}

/** The reason of a denial. The decisions log has it in the place of the rule's name. */
export type DenialReason =
  /** No rule allows this name or address at this port. */
  | 'no_rule'
  /** The name resolves only to addresses that are not public, or the address is not public. */
  | 'non_public'
  /** The name resolves only to addresses that the policy denies, or the address is denied. */
  | 'denied_network'
  /** A synthetic address that stands for no name. */
  | 'unknown_address'
  /** The authority of the CONNECT, or the DNS message, is not well formed. */
  | 'bad_request'
  /** Too many connections or requests of this runtime at once. */
  | 'limit'
  /** The name does not exist, or no resolver answered. */
  | 'name_not_found'
  | 'resolver_failed'
  /** The server refused the connection, has no route, or did not answer in time. */
  | 'upstream_refused'
  | 'upstream_unreachable'
  | 'upstream_timeout'
  /** The rule is for TLS or HTTP, and the bytes are something else or did not arrive in time. */
  | 'protocol_mismatch'
  | 'sni_missing'
  | 'sni_mismatch'
  | 'host_mismatch'
  /** The request is not well formed or is ambiguous. */
  | 'bad_http'
  /** No rule allows this method and path. */
  | 'request_denied'
  /**
   * The rule needs TLS to be terminated, and this gateway cannot do that, or there is no name for
   * it.
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
  /** The requested name; odd bytes are escaped as `\DDD`. Null for an address. */
  readonly name: string | null
  /** The upstream address, or the literal that was dialled. Null if there was none yet. */
  readonly address: string | null
  readonly port: number | null
  readonly allowed: boolean
  /** The rule's name, or the reason of the denial. */
  readonly rule: string
  readonly method?: string
  /** The path without the query. */
  readonly path?: string
  /** The bytes out of the runtime, for a connection that ended. */
  readonly bytes_sent?: number
  /** The bytes into the runtime, for a connection that ended. */
  readonly bytes_received?: number
  readonly process: AskingProcess | null
  /** The name of the secret that was inserted. */
  readonly secret?: string
}

/**
 * The parts of a connection that the gateway can see: nothing, the TLS server name, the Host of
 * each request, or whole requests.
 */
export type Inspection = 'none' | 'sni' | 'host' | 'terminated'

/** The decision for a connection, without making it. */
export interface TestedDecision {
  readonly allowed: boolean
  /** The rule's name, or the reason of the denial. */
  readonly rule: string
  readonly inspection: Inspection | null
  /** The addresses that the name resolves to now and that may be dialled. */
  readonly addresses: readonly string[]
  /** One sentence for people. */
  readonly detail: string
}

/** One synthetic address and the name that it stands for. */
export interface SyntheticAddress {
  readonly address: string
  readonly name: string
}

/** The facts of a runtime or build for `Gateway.attach`. */
export interface AttachOptions {
  readonly id: string
  readonly policy: EffectivePolicy
  readonly secrets: readonly AttachedSecret[]
  readonly ca: RuntimeCa
  /**
   * The store of synthetic addresses across a restart of the service, for programs inside that
   * remember them. Without it they are forgotten.
   */
  readonly addresses?: {
    /** Oldest first. Entries that do not fit the table's form are left out. */
    readonly known: readonly SyntheticAddress[]
    onAssigned(assigned: SyntheticAddress): void
  }
  /**
   * Returns false while nothing may leave the runtime. It is called for each chunk. The connection
   * of the chunk is then reset, and new connections and queries are refused. Default: always true.
   */
  mayLeave?(): boolean
  /** Called for each decision, at most some hundred times a second. It must not throw. */
  onDecision(decision: Decision): void
}

/** Bytes out of a runtime and into it. */
export interface Traffic {
  readonly sent: number
  readonly received: number
}

/** The egress of one runtime. */
export interface RuntimeEgress {
  /** Serves a connection that the guest made to the egress socket. */
  accept(connection: Duplex): void
  /**
   * Applies a new policy or new secrets to all that follows. Before it returns, it cuts open
   * connections that they no longer allow.
   */
  update(change: { readonly policy?: EffectivePolicy; readonly secrets?: readonly AttachedSecret[] }): void
  /** Decides without connecting. It resolves the name if a rule allows it. */
  test(target: { host: string; port: number; method?: string; path?: string }): Promise<TestedDecision>
  /** The traffic of its connections so far. While it does not change, no byte leaves or arrives. */
  readonly traffic: Traffic
  /** Connections that are open now. */
  readonly openConnections: number
  /** Resets every connection out at once. The kernel sends none of their waiting bytes. */
  resetConnections(): void
  /** Cuts everything. Later connections are closed at once. */
  close(): void
}
