import { errorOfBody, findCredentials, HoltError } from '@holt/sdk'
import type { Command } from 'commander'
import { fetchOverHttp } from '../connection/fetch-over-http.ts'
import { print, say } from '../output/print.ts'
import { openInBrowser } from '../ports/open-in-browser.ts'
import { act } from '../verb/verb.ts'

const examples = `
Examples:
  holt console
  holt console --no-open        prints the link, which signs in once, within a minute`

/** Adds `holt console`, which opens the console in a browser that is signed in. */
export function addConsole(program: Command): void {
  const command = program
    .command('console')
    .description('open the console in the browser of this machine, signed in')
    .option('--no-open', 'print the link instead: it signs in once, within a minute')
    .addHelpText('after', examples)
  act(command, async ({ open }: { open: boolean }) => {
    const link = await makeLink()
    if (open) {
      say(`Opening ${link.origin}${link.pathname}`)
      openInBrowser(link.href, () => print(link.href))
    } else print(link.href)
    return 0
  })
}

/**
 * Returns an address that signs a browser in. The code is in the fragment, which no server gets.
 */
async function makeLink(): Promise<URL> {
  const { url, apiKey } = findCredentials({})
  const headers: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
  const asked = new URL('/console/link', url)
  const answer = await fetchOverHttp(asked, { method: 'POST', headers, redirect: 'error' }).catch((cause: unknown) => {
    throw new HoltError('connection_refused', `Holt at ${url} cannot be reached`, { cause })
  })
  const body = JSON.parse(await answer.text())
  if (answer.status === 404)
    throw new HoltError('not_supported_here', `The service at ${url} has no console`, {
      hint: 'Set HOLT_CONSOLE=1 for the service, or use a service that is as new as this program.',
    })
  if (!answer.ok) throw errorOfBody(body.error)
  const link = new URL('/console/', url)
  link.hash = `code=${body.code}`
  return link
}
