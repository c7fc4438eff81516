import type { FastifyReply, FastifyRequest } from 'fastify'
import { acceptsCoding, isNamed } from './request-headers.ts'
import type { Site, SiteFile } from './site.ts'

/** The codings of built files, the best first, with the ends of the compressed files' names. */
const suffixes = { br: '.br', gzip: '.gz' } as const

/** The file of a built site that answers a request. */
interface Outgoing {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly name: string
  readonly file: SiteFile
  readonly status: 200 | 404
  /** The codings in which the file is there too, the best first. */
  readonly codings: readonly (keyof typeof suffixes)[]
}

/**
 * Sends a file of a built site, compressed if the client takes that. Returns null if a new build
 * has just replaced the site.
 */
export async function sendBuiltFile(
  site: Site,
  { request, reply, name, file, status, codings }: Outgoing,
): Promise<FastifyReply | null> {
  const coding = codings.find((each) => acceptsCoding(each, request.headers['accept-encoding']))
  const etag = `"${file.digest}${coding === undefined ? '' : `-${coding}`}"`
  reply.headers({
    // The names of assets have the hash of their contents. A browser keeps other files, and asks
    // each time.
    'cache-control': name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
    etag,
    vary: 'accept-encoding',
  })
  if (status === 200 && isNamed(etag, request.headers['if-none-match'])) return reply.code(304).send()
  const handle = await site.open(coding === undefined ? name : `${name}${suffixes[coding]}`)
  if (handle === null) return null
  try {
    reply.code(status).headers({
      'content-type': file.type,
      'content-length': (await handle.stat()).size,
      ...(coding === undefined ? {} : { 'content-encoding': coding }),
    })
  } catch (error) {
    await handle.close()
    throw error
  }
  if (request.method !== 'HEAD') return reply.send(handle.createReadStream())
  await handle.close()
  return reply.send()
}
