import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { freeSubnet, ip, removeTestNetwork } from '../rig/network-namespace.ts'

/** A program's place in the network of a fleet. `outside` is the machine of the tests itself. */
export type Place = 'outside' | 'database' | 'store' | 'balancer' | `host-${number}`

/** A hardware address that no device has: what is sent to it is lost without an answer. */
const nowhere = '02:00:00:00:00:01'

const limits = { timeout: 10_000 }

/**
 * A network of a fleet: each place has a namespace of its own, and a device on one bridge. The
 * bridge is in a namespace too, so one device is all that the machine itself gets.
 */
export class FleetNetwork implements AsyncDisposable {
  readonly #id = randomBytes(3).toString('hex')
  /** The addresses, by place. They are of one network of 256. */
  readonly #addresses: ReadonlyMap<Place, string>
  readonly #cuts = new Set<string>()
  /** Ways to end what makes a place lose or delay packets. */
  readonly #bad: (() => Promise<unknown>)[] = []

  private constructor(addresses: ReadonlyMap<Place, string>) {
    this.#addresses = addresses
  }

  /** Makes a network that this machine reaches too, with addresses that it does not use. */
  static async make(hosts: number): Promise<FleetNetwork> {
    const names = Array.from({ length: hosts }, (_, index): Place => `host-${index + 1}`)
    const places: readonly Place[] = ['outside', 'database', 'store', ...names]
    const subnet = freeSubnet()
    return FleetNetwork.of(new Map(places.map((place, index) => [place, `${subnet}.${index + 1}`])))
  }

  /** Makes a network of addresses. Without the place `outside`, this machine has no part in it. */
  static async of(addresses: ReadonlyMap<Place, string>): Promise<FleetNetwork> {
    const network = new FleetNetwork(addresses)
    try {
      await network.#build()
      return network
    } catch (error) {
      await network[Symbol.asyncDispose]()
      throw error
    }
  }

  /** The network, as `10.203.7.0/24`. */
  get range(): string {
    return `${this.addressOf('database').replace(/\d+$/, '0')}/24`
  }

  addressOf(place: Place): string {
    const address = this.#addresses.get(place)
    if (address === undefined) throw new Error(`the network has no ${place}`)
    return address
  }

  /** Returns the name of a namespace (`ip netns`). Throws for the machine of the tests. */
  namespaceOf(place: Place): string {
    if (place === 'outside') throw new Error('the machine of the tests has no namespace of its own')
    return `holt-fleet-${this.#id}-${place}`
  }

  /** Loses everything that one place sends to another, in this direction alone. */
  async cut(from: Place, to: Place): Promise<void> {
    const entry = [...this.#at(from), 'neigh', 'replace', this.addressOf(to), 'lladdr', nowhere]
    await ip(...entry, 'nud', 'permanent', 'dev', this.#device(from))
    this.#cuts.add(`${from} ${to}`)
  }

  /** Cuts a place off from others in both directions. */
  async isolate(place: Place, others: readonly Place[]): Promise<void> {
    for (const other of others) {
      await this.cut(place, other)
      await this.cut(other, place)
    }
  }

  /**
   * Loses a share of the packets that a place sends and receives, from 0 to 1. Netfilter draws the
   * packets: kernels without `sch_netem` have that too.
   */
  async lose(place: Place, share: number): Promise<void> {
    const rule = ['-m', 'statistic', '--mode', 'random', '--probability', String(share), '-j', 'DROP']
    for (const [chain, way] of [
      ['INPUT', '-i'],
      ['OUTPUT', '-o'],
    ] as const) {
      const chained = [chain, way, this.#device(place), ...rule]
      await this.#runAt(place, 'iptables', ['-A', ...chained])
      this.#bad.push(() => this.#runAt(place, 'iptables', ['-D', ...chained]))
    }
  }

  /** Bounds the rate at which a place sends. Packets wait in a queue for up to 400 ms. */
  async slow(place: Place, kilobitsPerSecond: number): Promise<void> {
    const device = ['dev', this.#device(place), 'root']
    const bucket = ['tbf', 'rate', `${kilobitsPerSecond}kbit`, 'burst', '8kb', 'latency', '400ms']
    await this.#runAt(place, 'tc', ['qdisc', 'add', ...device, ...bucket])
    this.#bad.push(() => this.#runAt(place, 'tc', ['qdisc', 'del', ...device]))
  }

  /** Takes a place from the network, as the end of its power does. */
  async unplug(place: Place): Promise<void> {
    await ip(...this.#at(place), 'link', 'set', this.#device(place), 'down')
  }

  async plug(place: Place): Promise<void> {
    await ip(...this.#at(place), 'link', 'set', this.#device(place), 'up')
  }

  /** Ends all cuts, losses and delays. */
  async heal(): Promise<void> {
    for (const end of this.#bad.splice(0)) await end()
    for (const each of this.#cuts) {
      const [from, to] = each.split(' ') as [Place, Place]
      await ip(...this.#at(from), 'neigh', 'del', this.addressOf(to), 'dev', this.#device(from))
      this.#cuts.delete(each)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const place of this.#addresses.keys())
      if (place !== 'outside') await removeTestNetwork(this.namespaceOf(place))
    // The bridge goes with its namespace, and the device of this machine with its other end.
    await removeTestNetwork(this.#bridgeNamespace)
  }

  get #bridgeNamespace(): string {
    return `holt-fleet-${this.#id}-net`
  }

  /** The options by which `ip` works in the namespace of a place. */
  #at(place: Place): readonly string[] {
    return place === 'outside' ? [] : ['-n', this.namespaceOf(place)]
  }

  /** Runs a program in the namespace of a place. */
  async #runAt(place: Place, program: string, args: readonly string[]): Promise<void> {
    const namespace = `--net=/run/netns/${this.namespaceOf(place)}`
    await promisify(execFile)('nsenter', [namespace, program, ...args], limits)
  }

  #device(place: Place): string {
    return place === 'outside' ? `hf${this.#id}` : 'eth0'
  }

  async #build(): Promise<void> {
    const bridge = ['-n', this.#bridgeNamespace]
    await ip('netns', 'add', this.#bridgeNamespace)
    await ip(...bridge, 'link', 'add', 'bridge', 'type', 'bridge')
    await ip(...bridge, 'link', 'set', 'bridge', 'up')
    for (const [index, place] of [...this.#addresses.keys()].entries()) {
      const port = `port${index}`
      const device = this.#device(place)
      if (place !== 'outside') await ip('netns', 'add', this.namespaceOf(place))
      await ip(...bridge, 'link', 'add', port, 'type', 'veth', 'peer', 'name', `hf${this.#id}x${index}`)
      await ip(...bridge, 'link', 'set', port, 'master', 'bridge', 'up')
      const target = place === 'outside' ? '1' : this.namespaceOf(place)
      await ip(...bridge, 'link', 'set', `hf${this.#id}x${index}`, 'name', device, 'netns', target)
      const at = this.#at(place)
      await ip(...at, 'address', 'add', `${this.addressOf(place)}/24`, 'dev', device)
      await ip(...at, 'link', 'set', device, 'up')
      if (place !== 'outside') await ip(...at, 'link', 'set', 'lo', 'up')
    }
  }
}
