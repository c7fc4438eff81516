import { KeyedLock } from '@holt/async'
import type { Builds } from '../builds/builds.ts'
import { Rooms } from './attach/rooms.ts'
import { BridgeAgents } from './code/bridge-connections.ts'
import { OnceTokens } from './ports/once-tokens.ts'
import { OpenPorts, type PortLimits } from './ports/open-ports.ts'
import { PortAddresses } from './ports/port-addresses.ts'
import { type RuntimeTokens, signedTokens } from './ports/runtime-tokens.ts'

/** The handle of the work inside runtimes. */
export interface Inside extends Builds {
  readonly ports: OpenPorts
  readonly addresses: PortAddresses
  /** The secret that signs the tokens of ports. */
  readonly portSecret: Buffer
  readonly runtimeTokens: RuntimeTokens
  readonly onceTokens: OnceTokens
  /** The attachments of each command. */
  readonly rooms: Rooms
  readonly bridgeAgents: BridgeAgents
  /** The diffs of each project, one after another. */
  readonly diffs: KeyedLock
}

/** The parts of the work inside runtimes that are opened elsewhere. */
interface InsideOptions {
  readonly portSecret: Buffer
  readonly portLimits?: Partial<PortLimits> | undefined
  /** Makes tokens. Default: by the secret of this host. */
  readonly runtimeTokens?: RuntimeTokens | undefined
}

/** Makes the parts of the work inside runtimes. */
export function openInside(
  builds: Builds,
  { portSecret, portLimits, runtimeTokens = signedTokens(portSecret) }: InsideOptions,
): Inside {
  return {
    ...builds,
    ports: new OpenPorts(builds.now, portLimits),
    addresses: new PortAddresses(builds.config.portDomain),
    portSecret,
    runtimeTokens,
    onceTokens: new OnceTokens(builds.now),
    rooms: new Rooms(),
    bridgeAgents: new BridgeAgents(),
    diffs: new KeyedLock(),
  }
}
