import { z } from 'zod'
import { ErrorBody, type ErrorCode, errorCatalogue } from '../errors.ts'
import { commonErrors, type Route, type RouteAnswer } from '../route.ts'
import { routeGroups, routes } from './index.ts'

type Json = Readonly<Record<string, unknown>>

/**
 * Returns the OpenAPI 3.1 description of the API, generated from the route table. `version` is the
 * version of the service.
 */
export function openApi(version: string): Json {
  const schemas = new SchemaCollector()
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [name, route] of Object.entries<Route>(routes)) {
    const path = paths[route.path] ?? {}
    path[route.method.toLowerCase()] = operation(name, route, schemas)
    paths[route.path] = path
  }
  const error = schemas.reference(ErrorBody, 'output')
  return {
    openapi: '3.1.0',
    info: {
      title: 'Holt',
      version,
      description:
        'Runs untrusted code for AI agents in runtimes made from templates. A route without a key answers HEAD as well as GET.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    security: [{ bearer: [] }],
    tags: Object.keys(routeGroups).map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'An API key: holt_...' } },
      responses: Object.fromEntries(
        Object.entries(errorCatalogue).map(([code, { hint }]) => [
          code,
          { description: hint, content: { 'application/json': { schema: error } } },
        ]),
      ),
      schemas: schemas.all(),
    },
  }
}

/** The group of each route. */
const tags: ReadonlyMap<string, string> = new Map(
  Object.entries(routeGroups).flatMap(([tag, group]) => Object.keys(group).map((name) => [name, tag])),
)

function operation(name: string, route: Route, schemas: SchemaCollector): Json {
  return {
    operationId: name,
    tags: [tags.get(name)],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    ...(route.scope === null ? { security: [] } : { security: [{ bearer: [] }], 'x-scope': route.scope }),
    parameters: [
      ...parameters(route.params, 'path', schemas),
      ...parameters(route.query, 'query', schemas),
      ...(route.takesIfMatch === true ? [ifMatch] : []),
    ],
    ...requestBody(route, schemas),
    responses: { ...successes(route, schemas), ...failures(route) },
  }
}

/** The header of a change of one version only. */
const ifMatch: Json = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description:
    'The etag of the version to change, as answers have it, or `*` for any version. Another version fails with `precondition_failed`. Default: no condition.',
  schema: { type: 'string' },
}

function parameters(schema: z.ZodType | undefined, place: 'path' | 'query', schemas: SchemaCollector): Json[] {
  if (schema === undefined) return []
  const object = schemas.inline(schema, 'input')
  const required = new Set(object.required as string[] | undefined)
  return Object.entries((object.properties ?? {}) as Record<string, Json>).map(([name, property]) => {
    const { description, ...rest } = property
    return {
      name,
      in: place,
      required: place === 'path' || required.has(name),
      ...(description === undefined ? {} : { description }),
      schema: rest,
    }
  })
}

function requestBody({ body }: Route, schemas: SchemaCollector): Json {
  if (body.type === 'none') return {}
  if (body.type === 'bytes') {
    return {
      requestBody: { required: true, description: body.description, content: { 'application/octet-stream': {} } },
    }
  }
  return {
    requestBody: {
      required: true,
      content: { 'application/json': { schema: schemas.reference(body.schema, 'input') } },
    },
  }
}

function successes(route: Route, schemas: SchemaCollector): Json {
  return Object.fromEntries(Object.entries(route.answers).map(([status, answer]) => [status, success(answer, schemas)]))
}

function success(answer: RouteAnswer, schemas: SchemaCollector): Json {
  const { description } = answer
  if (answer.type === 'none') return { description }
  if (answer.type === 'bytes') return { description, content: { [answer.mediaType ?? 'application/octet-stream']: {} } }
  if (answer.type === 'websocket') {
    // OpenAPI cannot describe a WebSocket, so an extension describes its frames.
    const [server, client] = [schemas.reference(answer.server, 'output'), schemas.reference(answer.client, 'input')]
    return { description, 'x-websocket': { server, client } }
  }
  if (answer.type === 'stream') return { description, content: streamContent(answer.item, schemas) }
  return {
    description,
    content: {
      'application/json': { schema: schemas.reference(answer.schema, 'output') },
      ...(answer.stream === undefined ? {} : streamContent(answer.stream, schemas)),
    },
  }
}

function streamContent(item: z.ZodType, schemas: SchemaCollector): Json {
  const schema = schemas.reference(item, 'output')
  return { 'application/x-ndjson': { schema }, 'text/event-stream': { schema } }
}

/**
 * Returns one response for each status. If several codes share a status, its description names
 * each.
 */
function failures(route: Route): Json {
  const codes: readonly ErrorCode[] = [
    ...new Set<ErrorCode>([...(route.scope === null ? [] : commonErrors), ...route.errors]),
  ]
  const statuses = new Set(codes.map((code) => errorCatalogue[code].status))
  return Object.fromEntries(
    [...statuses].map((status) => {
      const [first, ...others] = codes.filter((code) => errorCatalogue[code].status === status)
      const reference = `#/components/responses/${first}`
      return [status, others.length === 0 ? { $ref: reference } : shared([first as ErrorCode, ...others])]
    }),
  )
}

function shared(codes: readonly ErrorCode[]): Json {
  return {
    description: codes.map((code) => `\`${code}\``).join(', '),
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  }
}

/** Turns schemas with an `id` into components, and refers to them. */
class SchemaCollector {
  readonly #components = new Map<string, Json>()

  reference(schema: z.ZodType, io: 'input' | 'output'): Json {
    const id = schema.meta()?.id
    if (id === undefined) return this.inline(schema, io)
    if (!this.#components.has(id)) {
      const json = this.inline(schema, io)
      if (!this.#components.has(id)) this.#components.set(id, json)
    }
    return { $ref: `#/components/schemas/${id}` }
  }

  inline(schema: z.ZodType, io: 'input' | 'output'): Json {
    const {
      $schema: _,
      $defs,
      id: __,
      ...json
    } = z.toJSONSchema(schema, {
      io,
      unrepresentable: 'any',
      target: 'draft-2020-12',
      reused: 'inline',
      override: keepExamples,
    }) as Record<string, unknown>
    for (const [id, definition] of Object.entries(($defs ?? {}) as Record<string, Record<string, unknown>>)) {
      if (!this.#components.has(id)) this.#components.set(id, atComponents({ ...definition, id: undefined }) as Json)
    }
    return atComponents(json) as Json
  }

  all(): Json {
    return Object.fromEntries([...this.#components].sort(([a], [b]) => a.localeCompare(b)))
  }
}

/**
 * Keeps the examples of a schema, as a client sends them. Zod omits examples if parsing changes a
 * value.
 */
function keepExamples({ zodSchema, jsonSchema }: { zodSchema: object; jsonSchema: { examples?: unknown[] } }): void {
  const { examples } = z.globalRegistry.get(zodSchema as z.ZodType) ?? {}
  if (Array.isArray(examples)) jsonSchema.examples = examples
}

/** Points references to the components section. */
function atComponents(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(atComponents)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([key, inner]) => [
        key,
        key === '$ref' && typeof inner === 'string'
          ? inner.replace('#/$defs/', '#/components/schemas/')
          : atComponents(inner),
      ]),
  )
}
