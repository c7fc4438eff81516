import { openApi } from '@holt/protocol'
import { type ApiDocument, type LocatedOperation, operationsOf } from '../api/document.ts'
import { type Html, html, prose } from '../api/html.ts'
import { renderSchema } from '../api/render-fields.ts'
import { renderOperation } from '../api/render-operation.ts'
import { block } from './block.ts'

/** Returns the description of the API by itself. The site's own types match it. */
export function apiDocument(version: string): ApiDocument {
  return openApi(version) as unknown as ApiDocument
}

/** Returns the pages about the API: an overview, a page for each tag, and the schemas. */
export function apiPages(document: ApiDocument): Readonly<Record<string, string>> {
  const operations = operationsOf(document)
  const groups = document.tags.map(({ name }) => ({
    name,
    place: `api-${name.toLowerCase()}`,
    operations: operations.filter((operation) => operation.tags.includes(name)),
  }))
  return {
    'reference/api.md': overview(document, groups),
    ...Object.fromEntries(groups.map((group) => [`reference/${group.place}.md`, tagPage(group, document)])),
    'reference/schemas.md': schemasPage(document),
  }
}

interface Group {
  readonly name: string
  readonly place: string
  readonly operations: readonly LocatedOperation[]
}

function overview({ info }: ApiDocument, groups: readonly Group[]): string {
  const rows = groups.map(
    ({ name, place, operations }) => `## ${name}

| route | does |
|---|---|
${operations
  .map(
    ({ method, path, summary, operationId }) =>
      `| [\`${method} ${path}\`](./${place}.md#${operationId}) | ${escaped(summary)} |`,
  )
  .join('\n')}
`,
  )
  return `# API

${escaped(info.description)} This is version ${escaped(info.version)}. A running service has the same for programs at
\`/openapi.json\`.

${conventions}
${rows.join('\n')}`
}

/** The conventions of all routes, which no single route describes. */
const conventions = `## Conventions

* Send a key as \`Authorization: Bearer KEY\`, and JSON as \`Content-Type: application/json\`.
  Unknown fields are refused. An error names everything that is wrong at once.
* A list has \`data\`, newest first, and a \`next_cursor\` for the next page. It is null at the end.
* Times are RFC 3339 in UTC. Durations end in \`_secs\`, and sizes in \`_mib\` or \`_bytes\`.
* A POST with an \`Idempotency-Key\` is done once. The same key and body get the same answer for a
  day.
* A stream is Server-Sent Events if \`Accept: text/event-stream\` asks for them. Otherwise it is a
  line of JSON for each item. Each item has a \`cursor\`, and a reader can continue after it.
* Every answer has an \`X-Request-Id\`. A limit answers 429 with \`Retry-After\`. The headers
  \`RateLimit-*\` name the limit and the rest of it.
* HEAD is answered where a GET needs no key. The answer has no body.
* A failure has a code of the [catalogue](./errors.md).
* The examples expect the address of the service in \`HOLT_URL\` and a key in \`HOLT_API_KEY\`.
`

function tagPage({ name, operations }: Group, document: ApiDocument): string {
  const parts = operations.map(
    (operation) => `## ${escaped(operation.summary)} {#${operation.operationId}}

${block('api', renderOperation(operation, document))}`,
  )
  return `# API: ${name}

The [overview](./api.md) has the conventions of all routes.

${parts.join('\n')}`
}

function schemasPage({ components: { schemas } }: ApiDocument): string {
  const parts = Object.entries(schemas).map(
    ([name, schema]) => `## ${name} {#schema-${name}}

${block('api', html`${described(schema.description)}${renderSchema(schema)}`)}`,
  )
  return `# API: schemas

The bodies of requests and answers. The pages about the routes link to them.

${parts.join('\n')}`
}

function described(description: string | undefined): Html | null {
  return description === undefined ? null : html`<p>${prose(description)}</p>`
}

/** Escapes a text for Markdown that the site compiles: only its code stays special. */
function escaped(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('{{', '&#123;&#123;')
}
