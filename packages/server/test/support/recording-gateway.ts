import type { Duplex } from 'node:stream'
import type { AttachOptions, Decision, RuntimeEgress, TestedDecision } from '@holt/egress'
import type { EgressGateway } from '../../src/resources/network/runtime-networks.ts'

/** One attachment, as the gateway would see it. */
export class RecordedEgress implements RuntimeEgress {
  options: AttachOptions
  closed = false
  readonly connections: Duplex[] = []
  traffic = { sent: 0, received: 0 }

  constructor(options: AttachOptions) {
    this.options = options
  }

  get openConnections(): number {
    return this.connections.filter(({ destroyed }) => !destroyed).length
  }

  get hosts(): readonly string[] {
    return this.options.policy.rules.map(({ host }) => host)
  }

  accept(connection: Duplex): void {
    this.connections.push(connection)
  }

  update(change: Parameters<RuntimeEgress['update']>[0]): void {
    this.options = { ...this.options, ...change }
  }

  async test({ host, port }: { host: string; port: number }): Promise<TestedDecision> {
    const rule = this.options.policy.rules.find((one) => one.host === host && one.ports.includes(port))
    return {
      allowed: rule !== undefined,
      rule: rule?.name ?? 'no_rule',
      inspection: 'sni',
      addresses: [],
      detail: 'A test.',
    }
  }

  resetConnections(): void {
    for (const connection of this.connections) connection.destroy()
  }

  close(): void {
    this.closed = true
  }

  /** Decides something, as traffic would make it. */
  decide(decision: Partial<Decision> = {}): void {
    this.options.onDecision({
      at: Date.now(),
      type: 'connect',
      name: 'api.example.com',
      address: null,
      port: 443,
      allowed: false,
      rule: 'no_rule',
      process: null,
      ...decision,
    })
  }
}

/** A gateway that keeps what it is told, for tests of what tells it. */
export class RecordingGateway implements EgressGateway {
  readonly attached: RecordedEgress[] = []

  attach(options: AttachOptions): RuntimeEgress {
    const egress = new RecordedEgress(options)
    this.attached.push(egress)
    return egress
  }

  /** The way out of a runtime that is open now; null where there is none. */
  of(runtimeId: string): RecordedEgress | null {
    return this.attached.findLast(({ options, closed }) => options.id === runtimeId && !closed) ?? null
  }
}
