import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sendBuiltFile } from './send-built-file.ts'
import { type Manifest, Site, type SiteFile } from './site.ts'

/** The directory of the built site: `npm run docs` makes it, and a release brings it. */
const builtSite = fileURLToPath(new URL('../../../../../dist/docs', import.meta.url))

/** The methods and the paths of the site. Anyone may read it, so it is not in the route table. */
export const siteRoute = { methods: ['GET', 'HEAD'], url: '/docs/*', pattern: /^\/docs\// } as const

/** Serves the site of a directory below `/docs/`. */
export function serveSite(app: FastifyInstance, dir = builtSite): void {
  const site = new Site(dir)
  app.route({
    method: [...siteRoute.methods],
    url: siteRoute.url,
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      const manifest = await site.manifest()
      if (manifest === null) return sendNotBuilt(reply)
      const { '*': path } = request.params as { readonly '*': string }
      const found = findFile(manifest, path)
      if (found !== null) return sendFile(site, { request, reply, manifest, status: 200, ...found })
      const missing = findFile(manifest, '404')
      if (missing === null) return sendNotBuilt(reply)
      return sendFile(site, { request, reply, manifest, status: 404, ...missing })
    },
  })
}

interface Found {
  readonly name: string
  readonly file: SiteFile
}

interface Outgoing extends Found {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly manifest: Manifest
  readonly status: 200 | 404
}

/** Returns the file of a path: a page has its name without `.html`. */
function findFile({ files }: Manifest, path: string): Found | null {
  for (const name of path === '' ? ['index.html'] : [path, `${path}.html`]) {
    const file = files.get(name)
    if (file !== undefined) return { name, file }
  }
  return null
}

async function sendFile(site: Site, { reply, manifest, file, ...outgoing }: Outgoing): Promise<FastifyReply> {
  reply.headers(pageHeaders(file.type.startsWith('image/') ? picturePolicy : manifest.policy))
  return (await sendBuiltFile(site, { reply, file, ...outgoing, codings: ['gzip'] })) ?? sendNotBuilt(reply)
}

/**
 * The policy of a picture that is opened by itself. Diagrams have a stylesheet of their own, and
 * nothing in a picture runs.
 */
const picturePolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"

function pageHeaders(policy: string): Readonly<Record<string, string>> {
  return { 'content-security-policy': policy, 'referrer-policy': 'no-referrer' }
}

/** Answers with a page that says how to build the site. */
function sendNotBuilt(reply: FastifyReply): FastifyReply {
  return reply
    .code(404)
    .headers({ ...pageHeaders("default-src 'none'; frame-ancestors 'none'"), 'cache-control': 'no-store' })
    .header('content-type', 'text/html; charset=utf-8')
    .send(notBuilt)
}

const notBuilt = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Holt: the documentation is not built</title>
<h1>The documentation is not built</h1>
<p>Run <code>npm run docs</code> in the clone that this service runs from, and load this page again.
A release brings the documentation with it.</p>
<p>The pages are also in the clone, in <code>docs/</code>.
Programs find the API at <a href="/openapi.json">openapi.json</a>.</p>
</html>
`
