/** The part of JSON Schema that the API's own description uses. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly propertyNames?: Schema
  readonly items?: Schema
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly format?: string
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly multipleOf?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
}

/** A parameter of an operation. */
export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly description?: string
  readonly schema: Schema
}

/** The content of a request or an answer, by media type. */
type Content = Readonly<Record<string, { readonly schema?: Schema }>>

/**
 * An answer by its status: a success or a failure. A failure has `$ref`, or its codes in the
 * description.
 */
export interface Response {
  readonly $ref?: string
  readonly description?: string
  readonly content?: Content
  readonly 'x-websocket'?: { readonly server: Schema; readonly client: Schema }
}

/** A route in OpenAPI. */
interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  /** The scope of the key. Absent if the route is open. */
  readonly 'x-scope'?: string
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly description?: string; readonly content: Content }
  readonly responses: Readonly<Record<string, Response>>
}

/** The part of the OpenAPI document that the page needs. */
export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly responses: Readonly<Record<string, { readonly description: string }>>
    readonly schemas: Readonly<Record<string, Schema>>
  }
}

/** An operation with its method and path. */
export interface LocatedOperation extends Operation {
  readonly method: string
  readonly path: string
}

/** Returns all operations, in the order of the document. */
export function operationsOf({ paths }: ApiDocument): readonly LocatedOperation[] {
  return Object.entries(paths).flatMap(([path, byMethod]) =>
    Object.entries(byMethod).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  )
}

/** Returns the last part of a reference, which is the name of its target. */
export function nameIn(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}
