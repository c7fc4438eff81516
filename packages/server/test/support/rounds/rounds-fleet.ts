import { onTestFinished, vi } from 'vitest'
import { openStore, type Store } from '../../../src/foundation/store/open-store.ts'
import type { RuntimeRow } from '../../../src/foundation/store/tables.ts'
import { hostRow, pass, startHost, type TestHost } from '../fleet.ts'
import { startCluster } from '../postgres-cluster.ts'

/** A fleet in this process over one PostgreSQL, whose hosts a test cuts off and restarts. */
export class RoundsFleet {
  /** Beside the hosts: what a test looks at the rows with. */
  readonly store: Store
  readonly #hosts: TestHost[]
  /** The host that is cut off now. */
  #cut: TestHost | null = null

  private constructor(store: Store, hosts: TestHost[]) {
    this.store = store
    this.#hosts = hosts
  }

  /** Starts hosts that end with the test. */
  static async start(size: number): Promise<RoundsFleet> {
    const cluster = await startCluster()
    onTestFinished(() => cluster[Symbol.asyncDispose]())
    const shared = { url: cluster.url('postgres') }
    const hosts: TestHost[] = []
    // If wall clocks went on alone, hosts would move deadlines all the time.
    const begunAt = Date.now()
    while (hosts.length < size) hosts.push(await startHost(shared, { begunAt }))
    const store = await openStore({ type: 'postgres', ...shared, fleet: true }, () => undefined)
    onTestFinished(() => store.close())
    const fleet = new RoundsFleet(store, hosts)
    await fleet.pass(1)
    return fleet
  }

  readonly patienceMs = 20_000

  /** Returns the rows of all runtimes. */
  runtimeRows(): Promise<readonly RuntimeRow[]> {
    return this.store.db.selectFrom('runtimes').selectAll().orderBy('runtime_id').execute()
  }

  get hosts(): readonly TestHost[] {
    return this.#hosts
  }

  /** The hosts that reach the database. */
  get connected(): readonly TestHost[] {
    return this.#hosts.filter((host) => host !== this.#cut)
  }

  /** Lets time pass on all clocks. Hosts that reach the database send beats meanwhile. */
  async pass(ms: number): Promise<void> {
    await pass(ms, { store: this.store, hosts: this.#hosts, beating: this.connected })
  }

  /** Cuts a host off from the database. */
  cut(host: TestHost): void {
    host.cable.isCut = true
    this.#cut = host
  }

  /** Ends the cut, and starts a host again that was lost. Returns when every host is ready. */
  async heal(): Promise<void> {
    const host = this.#cut
    if (host === null) return
    host.cable.isCut = false
    this.#cut = null
    const isDecided = async () => host.overs.length > 0 || (await hostRow(this.store, host)).state !== 'lost'
    await vi.waitUntil(isDecided, { timeout: 20_000 })
    if (host.overs.length > 0) await this.restart(host)
    else await this.pass(1)
  }

  /** Ends the service of a host and starts it again. Its runtimes continue meanwhile. */
  async restart(host: TestHost): Promise<void> {
    this.#hosts[this.#hosts.indexOf(host)] = await host.restart()
    await this.pass(1)
  }

  /** Returns true if what a runtime sends leaves a host now. */
  speaks({ gateway }: TestHost, runtimeId: string): boolean {
    const egress = gateway.of(runtimeId)
    return egress !== null && (egress.options.mayLeave?.() ?? true)
  }
}
