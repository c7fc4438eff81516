import type { GuestLink } from '@holt/engine'
import { answeredWrongly } from './answers/answered-wrongly.ts'
import { ContentClient } from './files/content-client.ts'
import { FileClient } from './files/file-client.ts'
import { HomeClient } from './files/home-client.ts'
import { SearchClient } from './files/search-client.ts'
import type { BindRequest, GuestNetwork, RelieveMemory, SeedRequest } from './guest-requests.ts'
import { GuestBound, GuestInfo, GuestNetworkSet, GuestRelief, GuestSeeded, GuestUsage } from './guest-schemas.ts'
import { ListingClient } from './listings/listing-client.ts'
import { PortClient } from './ports/port-client.ts'
import { ProcessClient } from './processes/process-client.ts'
import { SessionClient } from './processes/session-client.ts'
import { get, json, post, query } from './requests/make-request.ts'
import { RequestSender } from './requests/request-sender.ts'
import { MountClient } from './trees/mount-client.ts'
import { TreeClient } from './trees/tree-client.ts'

/**
 * Speaks guest/PROTOCOL.md over a link. Every answer is parsed and bounded. Its own methods are
 * about the guest as a whole; each of its fields has those of one subject. All methods reject with
 * `HoltError` for faults of the request, such as a missing path. For faults of the guest or the
 * link they reject with `EngineError`.
 */
export class GuestClient {
  readonly processes: ProcessClient
  readonly sessions: SessionClient
  readonly files: FileClient
  readonly content: ContentClient
  readonly search: SearchClient
  readonly trees: TreeClient
  readonly listings: ListingClient
  readonly mounts: MountClient
  readonly ports: PortClient
  readonly #sender: RequestSender

  /**
   * A request that changes something carries the id that `operation` returns, if any. A request
   * repeated under the same id is answered again and not done again.
   */
  constructor(link: GuestLink, { operation = () => null }: { readonly operation?: () => string | null } = {}) {
    const sender = new RequestSender(link, operation)
    this.#sender = sender
    this.processes = new ProcessClient(sender)
    this.sessions = new SessionClient(sender)
    this.files = new FileClient(sender)
    this.content = new ContentClient(sender)
    this.search = new SearchClient(sender)
    this.trees = new TreeClient(sender)
    this.listings = new ListingClient(sender)
    this.mounts = new MountClient(sender)
    this.ports = new PortClient(sender)
  }

  /**
   * Returns the files by paths of the runtime's accounts. Entries have, and files get, the
   * attributes whose names begin with `attributePrefix`, which begins with `user.`.
   */
  homes(prefix: { readonly attributePrefix: string }): HomeClient {
    return new HomeClient(this.#sender, prefix)
  }

  info(signal: AbortSignal): Promise<GuestInfo> {
    return this.#sender.ask(get('/v1/info', signal), GuestInfo)
  }

  /** Returns the usage inside, as counted by the runtime's own kernel. */
  usage(signal: AbortSignal): Promise<GuestUsage> {
    return this.#sender.ask(get('/v1/usage', signal), GuestUsage)
  }

  /**
   * Gives the runtime its identity. The same id again is success, and changes nothing without
   * `renew`. Another id without `renew` is a `conflict`.
   */
  async bind(request: BindRequest, signal: AbortSignal): Promise<GuestBound> {
    const bound = await this.#sender.ask(post('/v1/bind', request, signal), GuestBound)
    if (bound.runtime_id !== request.runtime_id) throw answeredWrongly('bound to another runtime')
    return bound
  }

  /** Lets an unbound runtime run commands. They continue when it is bound. */
  seed(request: SeedRequest, signal: AbortSignal): Promise<GuestSeeded> {
    return this.#sender.ask(post('/v1/seed', request, signal), GuestSeeded)
  }

  /**
   * Gives a bound runtime a network, replaces it, or removes it. The answer reports whether it
   * works, and what could not be applied.
   */
  setNetwork(network: GuestNetwork | null, signal: AbortSignal): Promise<GuestNetworkSet> {
    return this.#sender.ask({ method: 'PUT', path: '/v1/network', ...json({ network }), signal }, GuestNetworkSet)
  }

  /**
   * Makes the guest close its connection, so that a checkpoint can be taken. If processes run, it
   * requires `force`. `baseline` is the id of the checkpoint's baseline, if it has one.
   */
  quiesce(
    signal: AbortSignal,
    { force = false, baseline }: { readonly force?: boolean; readonly baseline?: string | undefined } = {},
  ): Promise<void> {
    const fields = query({ force: force ? 1 : undefined, baseline })
    return this.#sender.tell(post(`/v1/quiesce${fields === '' ? '' : `?${fields}`}`, {}, signal))
  }

  /** Kills the processes with the most memory, because the runtime is above its limit. */
  relieveMemory(request: RelieveMemory, signal: AbortSignal): Promise<GuestRelief> {
    return this.#sender.ask(post('/v1/memory/relief', request, signal), GuestRelief)
  }
}
