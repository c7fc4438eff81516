import type { Runtime as RuntimeData, UpdateRuntimeInput } from '@holt/protocol'
import { Commands } from './commands.ts'
import { Files } from './files.ts'
import { Network } from './network.ts'
import { Ports } from './ports.ts'
import type { CallOptions, Transport } from './transport.ts'

/** A runtime: what the service said of it last, in the API's own words, and what can be done with it. Its public ports are `ports.public`. */
export type Runtime = Readonly<Omit<RuntimeData, 'ports'>> & RuntimeActions

/** What can be done with a runtime. Disposing of it (`await using`) deletes it. */
class RuntimeActions implements AsyncDisposable {
  readonly commands: Commands
  readonly files: Files
  readonly ports: Ports
  /** What it may reach. */
  readonly network: Network
  readonly #transport: Transport
  #data: RuntimeData

  constructor(transport: Transport, data: RuntimeData) {
    this.#transport = transport
    this.#data = data
    this.commands = new Commands(transport, data.runtime_id)
    this.files = new Files(transport, data.runtime_id)
    this.ports = new Ports(transport, data.runtime_id, () => this.#data.ports)
    this.network = new Network(transport, data.runtime_id)
  }

  /** Reads the runtime again into this object. */
  async refresh(options: CallOptions = {}): Promise<void> {
    this.#take(await this.#transport.call('getRuntime', { ...options, params: this.#params }))
  }

  /** Changes metadata or the deadline, and takes over what the service answers. */
  async update(change: UpdateRuntimeInput, options: CallOptions = {}): Promise<void> {
    this.#take(await this.#transport.call('updateRuntime', { ...options, params: this.#params, json: change }))
  }

  /** Terminates the runtime; one that is gone already is success. */
  async delete(options: CallOptions = {}): Promise<void> {
    await this.#transport.run('deleteRuntime', { ...options, params: this.#params })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.delete()
  }

  /** The API's own object. */
  toJSON(): RuntimeData {
    return this.#data
  }

  get #params() {
    return { runtime_id: this.#data.runtime_id }
  }

  #take(data: RuntimeData): void {
    this.#data = data
    Object.assign(this, fieldsOf(data))
  }
}

/** Makes the handle of a runtime from what the service said. */
export function makeRuntime(transport: Transport, data: RuntimeData): Runtime {
  return Object.assign(new RuntimeActions(transport, data), fieldsOf(data))
}

/** What the handle has as fields: `ports` is what can be done with them. */
function fieldsOf({ ports: _, ...fields }: RuntimeData): Omit<RuntimeData, 'ports'> {
  return fields
}
