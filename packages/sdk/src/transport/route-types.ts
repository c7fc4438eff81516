import type { RouteName, routes } from '@holt/protocol'

type Routes = typeof routes
type Output<Schema> = Schema extends { readonly _zod: { readonly output: infer Value } } ? Value : never
type Input<Schema> = Schema extends { readonly _zod: { readonly input: infer Value } } ? Value : never
type SchemaOf<Answer> = Answer extends { readonly type: 'json'; readonly schema: infer Schema } ? Schema : never

/** The JSON that a route returns. */
export type JsonAnswer<Name extends RouteName> = Output<
  SchemaOf<Routes[Name]['answers'][keyof Routes[Name]['answers']]>
>

/** The JSON that a route takes. */
export type BodyOf<Name extends RouteName> = Input<SchemaOf<Routes[Name]['body']>>
