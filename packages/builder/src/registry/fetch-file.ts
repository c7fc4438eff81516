import type { FetchedFile } from '../contract/build-contract.ts'
import { BuildError } from '../errors.ts'
import { refuseFailure } from './answers.ts'
import type { Answer } from './exchange.ts'
import { followed } from './redirects.ts'
import type { RegistryNetwork } from './registry-contract.ts'
import { defaultRetryPolicy, type RetryPolicy, retried } from './retry-policy.ts'
import { TransferError, type TransferFailure } from './transfer-error.ts'

/** Options for fetching a source of ADD. */
export interface FetchFileOptions {
  readonly network: RegistryNetwork
  /** The maximum size in bytes. A larger file is refused as soon as its size is known. */
  readonly maxBytes: number
  readonly retryPolicy?: Partial<RetryPolicy>
}

/** The mode of a fetched file. As with Docker, only root can read it. */
const mode = 0o600
const maxUrlLength = 8 * 1024

/**
 * Fetches an address for ADD over http or https. Only the start is retried. A failure of the body
 * is thrown to its reader, also as `step_failed`.
 */
export async function fetchFile(text: string, options: FetchFileOptions, signal: AbortSignal): Promise<FetchedFile> {
  const url = readUrl(text)
  const wire = { network: options.network, retryPolicy: { ...defaultRetryPolicy, ...options.retryPolicy } }
  try {
    const answer = await retried(wire.retryPolicy, signal, async () => {
      const mayBePlain = () => url.protocol === 'http:'
      const journey = {
        url,
        method: 'GET',
        headers: {},
        authorization: null,
        isOperators: () => false,
        mayBePlain,
      } as const
      const head = await followed(wire, journey, signal)
      try {
        refuseFailure(head, head.url.host)
        refuseLarge(Number(head.headers['content-length'] ?? 0), options.maxBytes)
      } catch (error) {
        head.close()
        throw error
      }
      return head
    })
    return {
      body: bodyOf(answer, { url, maxBytes: options.maxBytes, signal }),
      name: nameOf(url, answer.headers['content-disposition']),
      modifiedAtSecs: secondsOf(answer.headers['last-modified']),
      mode,
    }
  } catch (error) {
    throw explained(error, url, signal)
  }
}

async function* bodyOf(
  answer: Answer,
  { url, maxBytes, signal }: { url: URL; maxBytes: number; signal: AbortSignal },
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  try {
    for await (const chunk of answer.body) {
      bytes += chunk.length
      refuseLarge(bytes, maxBytes)
      yield chunk
    }
  } catch (error) {
    throw explained(error, url, signal)
  } finally {
    answer.close()
  }
}

function refuseLarge(bytes: number, maxBytes: number): void {
  if (bytes > maxBytes) throw new TransferError('too_large', `the file has more than ${maxBytes} bytes.`)
}

function readUrl(text: string): URL {
  const url = text.length <= maxUrlLength && URL.canParse(text) ? new URL(text) : null
  if (url !== null && /^https?:$/.test(url.protocol)) return url
  throw new BuildError('step_failed', `${JSON.stringify(text.slice(0, 200))} is not a URL that can be fetched.`)
}

/**
 * Returns the name of the file for a destination that is a directory: the server's name, or else
 * the end of the address. Returns an empty text if neither has one.
 */
function nameOf(url: URL, disposition: string | undefined): string {
  const said = /;\s*filename=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i.exec(disposition ?? '')
  const name = said?.[1]?.replaceAll(/\\(.)/g, '$1') ?? said?.[2] ?? ''
  return lastPart(name) || lastPart(decoded(url.pathname))
}

/**
 * Returns the last component of a path. It becomes a name in a directory, so it is never more than
 * one component.
 */
function lastPart(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const isName = name !== '.' && name !== '..' && !/\p{Cc}/u.test(name) && Buffer.byteLength(name) <= 255
  return isName ? name : ''
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path // The text is not UTF-8, so it stays as it was written.
  }
}

function secondsOf(lastModified: string | undefined): number | null {
  const ms = Date.parse(lastModified ?? '')
  return Number.isNaN(ms) ? null : Math.floor(ms / 1000)
}

const hints: Partial<Readonly<Record<TransferFailure, string>>> = {
  not_allowed: 'Use a public address.',
  no_such_host: 'Check the name of the host, and whether this service can look up names.',
}

function explained(error: unknown, url: URL, signal: AbortSignal): unknown {
  signal.throwIfAborted()
  if (!(error instanceof TransferError)) return error
  // The query is omitted, because it may be a signature.
  const place = `${url.origin}${url.pathname}`.slice(0, 300)
  const hint = hints[error.reason]
  return new BuildError('step_failed', `${place} could not be fetched: ${error.message}`, {
    ...(hint === undefined ? {} : { hint }),
    cause: error,
  })
}
