import { z } from 'zod'

/** The files of a certificate and its private key, in PEM. */
export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** The TLS listener: its files, and the address that it listens on. */
export interface TlsConfig extends TlsFiles {
  readonly host: string
  /** The port; 0: any free port. */
  readonly port: number
}

const file = z
  .string()
  .max(4096)
  .regex(/^\/[^\0]*$/, 'must be an absolute path')

/** The settings of the TLS listener. */
export const tlsSettings = {
  HOLT_E2B_TLS_CERT: file
    .optional()
    .describe(
      'A certificate with its chain in PEM, for the domain of E2B clients and all names below it. With it the service also listens with TLS. `holt e2b certificate` makes one. A changed file is read again.',
    ),
  HOLT_E2B_TLS_KEY: file.optional().describe('The private key of `HOLT_E2B_TLS_CERT`, in PEM.'),
  HOLT_E2B_TLS_HOST: z
    .string()
    .min(1)
    .max(255)
    .default('127.0.0.1')
    .describe('The address that the TLS listener listens on. `0.0.0.0` is every address of the machine.'),
  HOLT_E2B_TLS_PORT: z
    .string()
    .regex(/^\d{1,5}$/, 'must be a whole number')
    .transform(Number)
    .refine((port) => port <= 65_535, 'must be between 0 and 65535')
    .default(8443)
    .describe('The port that the TLS listener listens on. `0` takes any free port.'),
} as const

/** The parsed values of the settings. */
export interface TlsValues {
  readonly HOLT_E2B_TLS_CERT?: string | undefined
  readonly HOLT_E2B_TLS_KEY?: string | undefined
  readonly HOLT_E2B_TLS_HOST: string
  readonly HOLT_E2B_TLS_PORT: number
}

/** Returns the TLS listener of the settings; null if there is none. */
export function tlsOf(values: TlsValues): TlsConfig | null {
  const { HOLT_E2B_TLS_CERT: certFile, HOLT_E2B_TLS_KEY: keyFile } = values
  if (certFile === undefined || keyFile === undefined) return null
  return { certFile, keyFile, host: values.HOLT_E2B_TLS_HOST, port: values.HOLT_E2B_TLS_PORT }
}

/** Returns the settings that are wrong together, by name. */
export function wrongTls(given: Readonly<Record<string, string | undefined>>): readonly (readonly [string, string])[] {
  const { HOLT_E2B_TLS_CERT: cert, HOLT_E2B_TLS_KEY: key } = given
  if (cert !== undefined && given.HOLT_E2B !== 'on') return [['HOLT_E2B_TLS_CERT', 'needs HOLT_E2B=on']]
  if (cert !== undefined && key === undefined) return [['HOLT_E2B_TLS_KEY', 'is missing: HOLT_E2B_TLS_CERT needs it']]
  if (key !== undefined && cert === undefined) return [['HOLT_E2B_TLS_CERT', 'is missing: HOLT_E2B_TLS_KEY needs it']]
  return []
}
