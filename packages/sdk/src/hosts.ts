import type {
  CreateJoinTokenInput,
  DrainHostInput,
  Host,
  HostDrain,
  JoinToken,
  LoseHostInput,
  NewJoinToken,
} from '@holt/protocol'
import { Events } from './events.ts'
import { type Paginated, paginate } from './transport/pages.ts'
import type { CallOptions, Transport } from './transport/transport.ts'

/** The machines that run runtimes. They need a key with the scope `operator`. */
export class Hosts {
  /** The events of the hosts of a fleet, such as `host.lost`. */
  readonly events: Events
  readonly #transport: Transport
  constructor(transport: Transport) {
    this.#transport = transport
    this.events = new Events(transport, 'hosts')
  }

  /**
   * Lists the hosts with their capacity, isolation classes, pools and checks. An installation has
   * one, or those of its fleet. The checks are at most a minute old.
   */
  list(options: CallOptions = {}): Paginated<Host> {
    return paginate(() => this.#transport.call('listHosts', options))
  }

  /** Cordons a host of a fleet: it gets no new runtimes, and keeps those that it has. */
  async cordon(hostId: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.run('cordonHost', { ...options, params: { host_id: hostId }, twiceIsOnce: true })
  }

  /** Lets a host of a fleet get new runtimes again. */
  async uncordon(hostId: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.run('uncordonHost', { ...options, params: { host_id: hostId }, twiceIsOnce: true })
  }

  /**
   * Empties a host of a fleet: its runtimes move to other hosts under their ids. A runtime that
   * cannot move ends at its deadline, or after `deadline_secs`. Returns the future of the runtimes.
   * With `dry_run` nothing is changed. Throws `conflict` if other hosts cannot take them, unless
   * `force` is true.
   */
  async drain(hostId: string, body: DrainHostInput = {}, options: CallOptions = {}): Promise<HostDrain> {
    return this.#transport.call('drainHost', {
      ...options,
      params: { host_id: hostId },
      json: body,
      twiceIsOnce: true,
    })
  }

  /**
   * Declares a host of a fleet lost, because its power is off. Its running runtimes fail. Throws
   * `conflict` if the host is heard of, unless `force` is true.
   */
  async lose(hostId: string, body: LoseHostInput = {}, options: CallOptions = {}): Promise<void> {
    await this.#transport.run('loseHost', { ...options, params: { host_id: hostId }, json: body, twiceIsOnce: true })
  }

  /** Forgets a lost host of a fleet, whose disk does not come back. Its paused runtimes fail. */
  async forget(hostId: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.run('forgetHost', { ...options, params: { host_id: hostId }, twiceIsOnce: true })
  }

  /**
   * Makes a token with which workers join the fleet, for `ttl_secs` (default an hour). With `once`
   * the first join uses it up. Only this answer contains its text.
   */
  async createJoinToken(body: CreateJoinTokenInput = {}, options: CallOptions = {}): Promise<NewJoinToken> {
    return this.#transport.call('createJoinToken', { ...options, json: body, idempotencyKey: crypto.randomUUID() })
  }

  /** Lists the join tokens that have not ended, newest first, without their secrets. */
  listJoinTokens(options: CallOptions = {}): Paginated<JoinToken> {
    return paginate(() => this.#transport.call('listJoinTokens', options))
  }

  /** Revokes a join token. Workers that have joined with it stay. */
  async revokeJoinToken(tokenId: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.run('revokeJoinToken', { ...options, params: { token_id: tokenId } })
  }
}
