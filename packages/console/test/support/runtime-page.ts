import { createServer } from 'node:http'
import type { TestServer } from '../../../server/test/support/start-test-server.ts'
import { openByLink, type Visit } from './browser.ts'

/** Opens a tab of a runtime, signed in. `path` is the id, and the tab after a slash. */
export async function openTab(server: TestServer, visit: Visit, path: string, key?: string): Promise<void> {
  await openByLink(server, visit, key)
  await visit.page.getByRole('heading', { name: 'Runtimes', exact: true }).waitFor()
  await visit.page.goto(`${server.server.url}/console/runtimes/${path}`)
}

/** Starts a server on a port of a runtime of the fake engine. It shows the cookies that it gets. */
export function listenInside({ engine }: TestServer, id: string, port: number): void {
  const program = createServer((request, response) =>
    response
      .setHeader('content-type', 'text/html')
      .end(`<p>inside, without ${request.headers.cookie ?? 'cookies'}</p>`),
  )
  engine.guest(id)?.ports.listen(port, (connection) => program.emit('connection', connection))
}
