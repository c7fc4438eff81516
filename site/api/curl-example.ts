import type { LocatedOperation, Schema } from './document.ts'
import { exampleValue } from './example-value.ts'

/**
 * Returns a curl command that calls an operation. It is for a shell with the service's address and
 * a key in `HOLT_URL` and `HOLT_API_KEY`, and the path parameters in variables of their names.
 * Returns null for a WebSocket, which curl does not open everywhere.
 */
export function curlExample(operation: LocatedOperation, schemas: Readonly<Record<string, Schema>>): string | null {
  const { method, path, parameters, requestBody, responses } = operation
  if (Object.values(responses).some((response) => response['x-websocket'] !== undefined)) return null
  const query = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required)
    .map(({ name, schema }) => `${name}=${encodeURIComponent(String(exampleValue(schema, schemas)))}`)
  const url = `$HOLT_URL${path.replaceAll(/\{(\w+)\}/g, '$$$1')}${query.length === 0 ? '' : `?${query.join('&')}`}`
  const json = requestBody?.content['application/json']?.schema
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"${url}"`,
    ...(operation['x-scope'] === undefined ? [] : ['-H "Authorization: Bearer $HOLT_API_KEY"']),
    ...(json === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(exampleValue(json, schemas)))}`]),
    ...(requestBody !== undefined && json === undefined ? ['--data-binary @FILE'] : []),
  ].join(' \\\n  ')
}

/** Returns a text as one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
