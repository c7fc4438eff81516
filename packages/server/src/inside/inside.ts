import type { Builds } from '../builds/builds.ts'
import { OpenPorts, type PortLimits } from './ports/open-ports.ts'
import { PortAddresses } from './ports/port-addresses.ts'

/** The handle of the work inside runtimes. */
export interface Inside extends Builds {
  readonly ports: OpenPorts
  readonly addresses: PortAddresses
  /** The secret that signs the tokens of ports. */
  readonly portSecret: Buffer
}

/** Makes the parts of the work inside runtimes. */
export function openInside(
  builds: Builds,
  { portSecret, portLimits }: { readonly portSecret: Buffer; readonly portLimits?: Partial<PortLimits> | undefined },
): Inside {
  return {
    ...builds,
    ports: new OpenPorts(builds.now, portLimits),
    addresses: new PortAddresses(builds.config.portDomain),
    portSecret,
  }
}
