import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import type { TlsFiles } from '../../foundation/config/tls-settings.ts'
import type { Log } from '../../foundation/log.ts'

/** The interval at which the files are compared with the ones in use, in milliseconds. */
const checkEveryMs = 2_000

/** A certificate with its chain, and its private key, in PEM. */
export interface CertificatePair {
  readonly cert: Buffer
  readonly key: Buffer
}

/** Reads a certificate and its key. Throws if they do not belong together. */
export async function readCertificate({ certFile, keyFile }: TlsFiles): Promise<CertificatePair> {
  const [cert, key] = await Promise.all([readOne('HOLT_E2B_TLS_CERT', certFile), readOne('HOLT_E2B_TLS_KEY', keyFile)])
  try {
    createSecureContext({ cert, key })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`HOLT_E2B_TLS_CERT and HOLT_E2B_TLS_KEY are not a certificate and its key in PEM: ${reason}`, {
      cause,
    })
  }
  return { cert, key }
}

/**
 * Calls `use` with the content of the files whenever it changes, until the signal ends it. A pair
 * that cannot be used is logged once, and the earlier pair stays in use. The content is compared
 * and not the time of the files, because tools replace a link or a directory above them.
 */
export function followCertificate(
  files: TlsFiles,
  {
    first,
    log,
    signal,
    use,
  }: { first: CertificatePair; log: Log; signal: AbortSignal; use: (pair: CertificatePair) => void },
  everyMs = checkEveryMs,
): void {
  let inUse = digestOf(first)
  let told = ''
  let running = false
  const check = async () => {
    try {
      const pair = await readCertificate(files)
      const digest = digestOf(pair)
      if (digest !== inUse && !signal.aborted) {
        use(pair)
        inUse = digest
        log.info({ file: files.certFile }, 'the certificate of the TLS listener has changed and is in use')
      }
      told = ''
    } catch (error) {
      const reason = String(error)
      if (reason !== told) log.warn({ err: error }, 'the changed certificate cannot be used; the earlier one stays')
      told = reason
    }
  }
  const timer = setInterval(() => {
    if (running) return
    running = true
    void check().finally(() => {
      running = false
    })
  }, everyMs).unref()
  signal.addEventListener('abort', () => clearInterval(timer), { once: true })
}

async function readOne(setting: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (cause) {
    throw new Error(`${setting}: ${file} cannot be read: ${(cause as NodeJS.ErrnoException).code ?? cause}`, { cause })
  }
}

function digestOf({ cert, key }: CertificatePair): string {
  return createHash('sha256').update(cert).update('\0').update(key).digest('hex')
}
