import { isNetwork } from '@holt/protocol'
import { list } from './list-setting.ts'

/** A network of proxies. A network of all addresses would let each client choose its own. */
const network = (text: string) => (isNetwork(text) && !text.endsWith('/0') ? text : null)

/** The settings of the proxies before the service. */
export const proxySettings = {
  HOLT_TRUSTED_PROXIES: list(
    (text) => network(text.toLowerCase()),
    'must be networks such as 10.1.0.0/16, separated by commas',
  ).describe(
    'The networks of the proxies and load balancers before the service. Their `X-Forwarded-For` gives the address of a client, for the audit log and for limits. The header of others is ignored.',
  ),
} as const
