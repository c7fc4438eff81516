import { isIP } from 'node:net'
import { z } from 'zod'

/** The usual port of the listener for other hosts. */
const usualPort = 4659

/** The address of the listener for other hosts of the fleet. */
export interface PeerAddress {
  /** An IP address. */
  readonly host: string
  /** The port; 0: any free port. */
  readonly port: number
}

/** `10.1.2.3`, `10.1.2.3:4659`, `fd00::3` or `[fd00::3]:4659`. */
const peerAddress = z.string().transform((text, context): PeerAddress => {
  const [, bracketed, plain, port = usualPort] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(text) ?? []
  const host = isIP(text) === 6 ? text : (bracketed ?? plain ?? '')
  const isAny = host === '0.0.0.0' || host === '::'
  if (isIP(host) !== 0 && !isAny && Number(port) <= 65_535) return { host, port: Number(port) }
  context.addIssue({
    code: 'custom',
    message: 'must be an IP address of this machine that other hosts reach, such as 10.1.2.3 or 10.1.2.3:4659',
  })
  return z.NEVER
})

/** The settings of connections between the hosts of a fleet. */
export const peerSettings = {
  HOLT_PEER_ADDRESS: peerAddress
    .optional()
    .describe(
      'The address at which other hosts of the fleet reach this one, and on which it listens for them: `10.1.2.3:4659`. The port is 4659 without one. Only a host of a fleet uses it, and no client does. See [the wire of a fleet](internals/fleet-wire.md).',
    ),
} as const
