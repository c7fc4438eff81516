import { type ApiDocument, type LocatedOperation, operationsOf, type Schema } from './document.ts'
import { type Html, html, prose } from './html.ts'
import { renderSchema } from './render-fields.ts'
import { codesOf, renderOperation } from './render-operation.ts'
import { style } from './style.ts'

/**
 * Returns the whole description of the API as one page of HTML. It has no scripts and loads nothing
 * from elsewhere.
 */
export function renderPage(document: ApiDocument): string {
  const { info, tags, components } = document
  const operations = operationsOf(document)
  const groups = tags.map(({ name }) => ({
    name,
    operations: operations.filter((operation) => operation.tags.includes(name)),
  }))
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title} API</title>
<style>${{ markup: style }}</style>
</head>
<body>
<header><h1>${info.title} API</h1><p>${info.description} Version ${info.version}. For programs: <a href="/openapi.json">openapi.json</a></p></header>
<nav aria-label="Contents">${renderContents(groups)}</nav>
<main>
${conventions}
${groups.map(
  (
    group,
  ) => html`<section id="tag-${group.name}"><h2>${group.name}</h2>${group.operations.map((operation) => renderOperation(operation, document))}
</section>
`,
)}
${renderErrors(document, operations)}
${renderSchemas(components.schemas)}
</main>
</body>
</html>
`
  return page.markup
}

interface Group {
  readonly name: string
  readonly operations: readonly LocatedOperation[]
}

function renderContents(groups: readonly Group[]): Html {
  return html`<p><a href="#conventions">Conventions</a></p>${groups.map(
    ({ name, operations }) => html`
<details><summary>${name}</summary><ul>
<li><a href="#tag-${name}">All of ${name}</a></li>${operations.map(
      ({ operationId, method, path, summary }) => html`
<li><a href="#${operationId}" title="${method} ${path}">${summary}</a></li>`,
    )}
</ul></details>`,
  )}
<p><a href="#errors">Errors</a></p>
<p><a href="#schemas">Schemas</a></p>`
}

/** The conventions of all routes, which no single route describes. */
const conventions = html`<section id="conventions"><h2>Conventions</h2>
<p>Send a key as <code>Authorization: Bearer KEY</code>, and JSON as <code>Content-Type: application/json</code>. Unknown fields are refused, and all that is wrong is named at once.</p>
<p>A list has <code>data</code>, newest first, and a <code>next_cursor</code> for the next page, which is null at the end. Times are RFC 3339 in UTC; durations end in <code>_secs</code>, sizes in <code>_mib</code> or <code>_bytes</code>.</p>
<p>A POST with an <code>Idempotency-Key</code> is done once: the same key and body again within a day get the same answer.</p>
<p>A stream is Server-Sent Events where <code>Accept: text/event-stream</code> asks for it, else a line of JSON for each item. Each item has a <code>cursor</code> to go on after.</p>
<p>Every answer has an <code>X-Request-Id</code>. A limit answers 429 with <code>Retry-After</code>, and says in <code>RateLimit-*</code> what it is and what is left of it.</p>
<p>Where a GET needs no key, HEAD is answered too: the same without the body.</p>
<p>The examples expect the service's address in <code>HOLT_URL</code> and a key in <code>HOLT_API_KEY</code>.</p>
</section>`

/** Renders the catalogue of errors: the advice of each, and its status. */
function renderErrors({ components }: ApiDocument, operations: readonly LocatedOperation[]): Html {
  const statuses = new Map(
    operations.flatMap(({ responses }) =>
      Object.entries(responses).flatMap(([status, response]) =>
        codesOf(response).map((code) => [code, status] as const),
      ),
    ),
  )
  return html`<section id="errors"><h2>Errors</h2>
<p>A failure is an <a href="#schema-Error">Error</a>. Its <code>code</code> is the contract; the message is for people.</p>
<dl>${Object.entries(components.responses).map(
    ([code, { description }]) => html`
<dt id="error-${code}"><code>${code}</code> <span class="type">${statuses.get(code) ?? null}</span></dt><dd>${prose(description)}</dd>`,
  )}</dl>
</section>
`
}

function renderSchemas(schemas: Readonly<Record<string, Schema>>): Html {
  return html`<section id="schemas"><h2>Schemas</h2>${Object.entries(schemas).map(
    ([name, schema]) => html`
<article id="schema-${name}"><h3><a href="#schema-${name}">${name}</a></h3>
${schema.description === undefined ? null : html`<p>${prose(schema.description)}</p>`}${renderSchema(schema)}</article>`,
  )}
</section>`
}
