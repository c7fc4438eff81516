import { type ErrorCode, errorCatalogue } from '@holt/protocol'
import { type ApiDocument, operationsOf } from '../api/document.ts'
import { html, prose } from '../api/html.ts'
import { codesOf } from '../api/render-operation.ts'
import { base } from '../base.ts'
import { block } from './block.ts'
import { errorMeanings } from './error-meanings.ts'

/** Returns the page about the errors: status, meaning, remedy and routes of each. */
export function errorsPage(document: ApiDocument): string {
  const operations = operationsOf(document)
  const entries = Object.entries(errorCatalogue) as [ErrorCode, { status: number; hint: string }][]
  const parts = entries.map(([code, { status, hint }]) => {
    const routes = operations.filter(({ responses }) =>
      Object.values(responses).some((response) => codesOf(response).includes(code)),
    )
    return `## ${code}

${block(
  'api',
  html`<p><b class="status">${status}</b> ${prose(errorMeanings[code])}</p>
<p><b>What to do:</b> ${prose(hint)}</p>
${routes.length === 0 || routes.length > fewRoutes ? html`<p class="type">${routes.length === 0 ? 'Any route' : 'Many routes'} can answer with it.</p>` : html`<p class="type">Routes: ${routes.map(({ operationId, tags, method, path }) => html`<a href="${base}reference/api-${(tags[0] ?? '').toLowerCase()}#${operationId}"><code>${method} ${path}</code></a> `)}</p>`}`,
)}`
  })
  return `# Errors

For everybody who calls the API, the SDK or the command. After this page you know what a code means
and what to do about it.

A failure is \`{"error": {"code", "message", "hint", "details", "request_id"}}\`. Programs read \`code\`, which
stays the same between versions. The message is for people. The hint is the remedy below, or a more
precise one. \`holt\` prints message and hint. The SDK throws an error with the same fields.

${parts.join('\n')}`
}

/** Up to this many routes are listed. An error of more routes says nothing about a single one. */
const fewRoutes = 12
