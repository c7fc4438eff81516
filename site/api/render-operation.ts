import { base } from '../base.ts'
import { curlExample } from './curl-example.ts'
import { type ApiDocument, type LocatedOperation, nameIn, type Response } from './document.ts'
import { type Html, html, prose } from './html.ts'
import { renderParameters, renderSchema } from './render-fields.ts'
import { schemaLink, typeText } from './type-text.ts'

/** Renders one route below its heading: its path, scope, parameters, body and answers. */
export function renderOperation(operation: LocatedOperation, { components: { schemas } }: ApiDocument): Html {
  const { method, path, description, parameters } = operation
  const curl = curlExample(operation, schemas)
  return html`
<p class="route"><b class="method">${method}</b> <code>${path}</code></p>
<p class="scope">${scopeText(operation['x-scope'])}</p>
${description === undefined ? null : html`<p>${prose(description)}</p>`}
${(['path', 'query'] as const).map((place) => {
  const here = parameters.filter((parameter) => parameter.in === place)
  return here.length === 0 ? null : html`<h4>${place === 'path' ? 'Path' : 'Query'}</h4>${renderParameters(here)}`
})}
${renderBody(operation, schemas)}
${renderAnswers(operation)}
${curl === null ? null : html`<h4>Example</h4><pre><code>${curl}</code></pre>`}`
}

function scopeText(scope: string | undefined): Html {
  if (scope === undefined) return html`Open: no key is needed.`
  return scope === 'any' ? html`Any key.` : html`Scope <code>${scope}</code>`
}

function renderBody({ requestBody }: LocatedOperation, schemas: ApiDocument['components']['schemas']): Html | null {
  if (requestBody === undefined) return null
  const schema = requestBody.content['application/json']?.schema
  if (schema === undefined) return html`<h4>Body</h4><p>Bytes. ${prose(requestBody.description ?? '')}</p>`
  const name = schema.$ref === undefined ? null : nameIn(schema.$ref)
  const fields = name === null ? schema : (schemas[name] ?? {})
  return html`<h4>Body ${name === null ? null : schemaLink(name)}</h4>${renderSchema(fields)}`
}

function renderAnswers({ responses }: LocatedOperation): Html {
  const all = Object.entries(responses)
  const failures = all.filter(([, response]) => isFailure(response))
  return html`<h4>Answers</h4>
<dl>${all
    .filter(([, response]) => !isFailure(response))
    .map(
      ([status, response]) => html`
<dt><b class="status">${status}</b> ${carried(response)}</dt>
<dd>${prose(response.description ?? '')}</dd>`,
    )}</dl>${
    failures.length === 0
      ? null
      : html`
<h4>Errors</h4>
<ul class="errors">${failures.map(
          ([status, response]) => html`
<li><b class="status">${status}</b> ${codesOf(response).map(
            (code) => html`<a href="${base}reference/errors#${code}"><code>${code}</code></a> `,
          )}</li>`,
        )}</ul>`
  }`
}

/** Renders the content of a success, for each media type. */
function carried({ content = {}, 'x-websocket': socket }: Response): Html {
  if (socket !== undefined)
    return html`WebSocket: the service sends ${typeText(socket.server)}, the client ${typeText(socket.client)}`
  return html`${Object.entries(content).map(
    ([type, { schema }]) =>
      html`<span class="type">${type}${schema === undefined ? null : html`: ${typeText(schema)}`}</span> `,
  )}`
}

/**
 * Returns true if an answer is an error of the catalogue. An answer with 503 may also be the state
 * of the service.
 */
function isFailure({ $ref, content }: Response): boolean {
  return $ref !== undefined || content?.['application/json']?.schema?.$ref === '#/components/schemas/Error'
}

/** Returns the error codes that an answer may have, from its reference or its description. */
export function codesOf(response: Response): readonly string[] {
  const { $ref, description = '' } = response
  if (!isFailure(response)) return []
  return $ref === undefined ? [...description.matchAll(/`(\w+)`/g)].map(([, code = '']) => code) : [nameIn($ref)]
}
