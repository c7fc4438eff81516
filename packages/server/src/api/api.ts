import type { RouteName } from '@holt/protocol'
import type { Answer, Call } from '../foundation/wire/call.ts'
import type { Inside } from '../inside/inside.ts'

/** The handle of the API. It adds no part to those of the districts below. */
export type Api = Inside

/** The function that answers one route. */
type Handler<Name extends RouteName> = (call: Call<Name, Api>) => Promise<Answer>

/** A handler for every route. A missing one is a type error. */
export type Handlers = { readonly [Name in RouteName]: Handler<Name> }
