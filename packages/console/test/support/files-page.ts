import { readFile } from 'node:fs/promises'
import type { Download, Page } from 'playwright-core'
import { startTestServer, type TestServer } from '../../../server/test/support/start-test-server.ts'
import { openByLink, openWindow, type Visit } from './browser.ts'

/** A browser at the files of a runtime. */
interface Opened extends Visit {
  readonly server: TestServer
  readonly id: string
  /** Puts a file, a directory or a symlink into the runtime, as a program inside does. */
  put(path: string, content: string | Uint8Array | { readonly to: string } | null): void
  /** Returns the content of a file in the runtime; null if there is none. */
  content(path: string): string | null
  /** Opens the tab with a query. */
  show(search?: Readonly<Record<string, string>>): Promise<void>
}

/** Starts a service with a runtime, and signs a browser in. */
export async function openFiles(
  options: Parameters<typeof openWindow>[0] = {},
  scopes?: readonly string[],
): Promise<Opened> {
  const server = await startTestServer()
  const id = await server.makeRuntime({ name: 'mine' })
  const nodes = server.engine.guest(id)?.files.nodes
  if (nodes === undefined) throw new Error('there is no guest')
  const visit = await openWindow(options)
  const key = scopes === undefined ? undefined : (await server.makeKey(...scopes)).key
  await openByLink(server, visit, key)
  await visit.page.getByRole('link', { name: 'mine' }).waitFor()
  const show: Opened['show'] = async (search = {}) => {
    const query = new URLSearchParams(search as Record<string, string>)
    await visit.page.goto(`${server.server.url}/console/runtimes/${id}/files?${query}`)
  }
  return {
    ...visit,
    server,
    id,
    put: (path, content) => {
      nodes.makeParents(path)
      if (content === null) nodes.set(path, { type: 'directory', mode: '0755' })
      else if (typeof content === 'object' && 'to' in content)
        nodes.set(path, { type: 'symlink', mode: '0777', target: content.to })
      else nodes.set(path, { type: 'file', mode: '0644', data: Buffer.from(content) })
    },
    content: (path) => {
      const node = nodes.get(path)
      return node?.type === 'file' ? node.data.toString() : null
    },
    show,
  }
}

/** The names of the rows of a directory. */
export const rowsOf = (page: Page) => page.getByRole('grid', { name: 'Files' }).getByRole('rowheader')

/** The row of an entry. */
export const row = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByText(name, { exact: true }) })

/** Selects an entry. */
export const select = (page: Page, name: string) => row(page, name).locator('label').click()

/** The text in the editor. */
export const text = (page: Page) => page.locator('.cm-content')

/** Writes a file as another client does, with an event. */
export async function writeElsewhere({ server, id }: Opened, path: string, body: string): Promise<void> {
  const url = `/v1/agents/runtime/${id}/files/content?path=${encodeURIComponent(path)}`
  const { status } = await server.ask('PUT', url, { body })
  if (status >= 300) throw new Error(`${path}: ${status}`)
}

/** Returns the content of a download. */
export async function bytesOf(download: Download): Promise<Buffer> {
  return readFile(await download.path())
}
