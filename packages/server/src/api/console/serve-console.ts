import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Api } from '../api.ts'
import { sendBuiltFile } from '../docs/send-built-file.ts'
import { Site } from '../docs/site.ts'
import type { Mount } from '../http/create-app.ts'
import { consoleHeaders, openedHeader } from './console-headers.ts'
import { serveSessions } from './serve-sessions.ts'

/** The directory of the built console: `npm run console` makes it, and a release brings it. */
const builtConsole = fileURLToPath(new URL('../../../../../dist/console', import.meta.url))

/** Serves the console below `/console/`, with the sessions of its browsers. */
export const serveConsole: Mount = (app, service) => {
  serveSessions(app, service)
  serveFiles(app, service)
}

/**
 * Serves the files of the console. Every other path is one of its pages, which the application in
 * the browser shows.
 */
export function serveFiles(app: FastifyInstance, { log }: Pick<Api, 'log'>, dir = builtConsole): void {
  const site = new Site(dir)
  app.addHook('onReady', async () => {
    // Operators read it at the start. The page itself says the same to others.
    if ((await site.manifest()) === null) log.info({ dir }, 'the console is not built: run npm run console')
  })
  app.route({
    method: ['GET', 'HEAD'],
    url: '/console',
    exposeHeadRoute: false,
    handler: async (_request, reply) => reply.code(308).header('location', '/console/').send(),
  })
  app.route({
    method: ['GET', 'HEAD'],
    url: '/console/*',
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      const manifest = await site.manifest()
      const { '*': path } = request.params as { readonly '*': string }
      // A missing asset is an error, so that no page is kept in its place.
      const name = manifest?.files.has(path) === true || path.startsWith('assets/') ? path : 'index.html'
      const file = manifest?.files.get(name)
      reply.headers({
        ...consoleHeaders(request.headers.host ?? ''),
        ...(name === 'index.html' ? openedHeader(String(request.headers['sec-fetch-site'])) : {}),
      })
      if (file === undefined) return sendMissing(reply, manifest !== null)
      const codings = file.compressed === true ? (['br', 'gzip'] as const) : []
      const sent = await sendBuiltFile(site, { request, reply, name, file, status: 200, codings })
      if (sent !== null) return sent
      log.warn({ name }, 'a file of the console is missing: build it again')
      return sendMissing(reply, false)
    },
  })
}

/** Answers with a page that says how to build the console, or that a file of it is missing. */
function sendMissing(reply: FastifyReply, isBuilt: boolean): FastifyReply {
  return reply
    .code(404)
    .headers({ 'cache-control': 'no-store', 'content-type': 'text/html; charset=utf-8' })
    .send(isBuilt ? page('The console has no such file', 'Load the console again.') : notBuilt)
}

function page(title: string, text: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Holt: ${title}</title>
<h1>${title}</h1>
<p>${text}</p>
</html>
`
}

const notBuilt = page(
  'The console is not built',
  'Run <code>npm run console</code> in the clone that this service runs from, and load this page again. A release brings the console with it.',
)
