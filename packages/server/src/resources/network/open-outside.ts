import { readFile } from 'node:fs/promises'
import type { RegistryNetwork } from '@holt/builder'
import { Dialer, Gateway } from '@holt/egress'
import { ConfigError, type ServerConfig } from '../../foundation/config/config.ts'
import type { Log } from '../../foundation/log.ts'
import type { DialWebhook } from '../../tenancy/webhooks/post-message.ts'
import type { DialTls } from '../identity/post-form.ts'
import { makeRegistryNetwork } from './registry-network.ts'
import type { EgressGateway } from './runtime-networks.ts'

/**
 * The ways to external hosts: the runtimes' gateway, and the service's own connections under the
 * same rules.
 */
export interface Outside {
  readonly gateway: EgressGateway
  readonly dialTls: DialTls
  /**
   * Connects to receivers of webhooks. Without TLS, only networks that the operator has allowed are
   * reached.
   */
  readonly dialWebhook: DialWebhook
  /** The network for the pulls of builds. */
  readonly registryNetwork: RegistryNetwork
}

/** Makes the gateway with the operator's settings. */
export async function openOutside({ egress }: Pick<ServerConfig, 'egress'>, log: Log): Promise<Outside> {
  const { resolvers, allowedNetworks, overrides, caFile } = egress
  const extraCaPem = caFile === null ? null : await readCertificates(caFile)
  const settings = { resolvers, allowedNetworks, overrides, extraCaPem }
  try {
    const dialer = new Dialer(settings)
    return {
      gateway: new Gateway({ settings, log }),
      dialTls: (target, signal) => dialer.dialTls(target, signal),
      dialWebhook: ({ tls, ...target }, signal) =>
        tls ? dialer.dialTls(target, signal) : dialer.dial({ ...target, onlyAllowedNetworks: true }, signal),
      registryNetwork: makeRegistryNetwork(dialer),
    }
  } catch (error) {
    throw new ConfigError(`HOLT_EGRESS_*: ${(error as Error).message}`)
  }
}

async function readCertificates(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError(`HOLT_EGRESS_CA_FILE: ${path} cannot be read (${error.code})`)
  })
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  throw new ConfigError(`HOLT_EGRESS_CA_FILE: ${path} contains no certificate in PEM`)
}
