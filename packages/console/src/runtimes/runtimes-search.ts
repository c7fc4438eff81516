/** The choices in the address of the page, so that a reload or a link shows the same. */
export interface RuntimesSearch {
  /** The words to find. */
  readonly find?: string | undefined
  /** The view of states. */
  readonly state?: string | undefined
  /** The order, such as `-name`. */
  readonly sort?: string | undefined
  /** `tree` shows forks below their sources. */
  readonly view?: string | undefined
  /** The template of the form of a create, which is open; empty for none. */
  readonly template?: string | undefined
}

const fields = ['find', 'state', 'sort', 'view', 'template'] as const

/** Returns the parts of an address that the page knows. */
export function runtimesSearch(search: Readonly<Record<string, unknown>>): RuntimesSearch {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = search[field]
      // The router reads `?find=42` as a number.
      return typeof value === 'string' || typeof value === 'number' ? [[field, String(value)]] : []
    }),
  )
}

/** Returns the choices that differ from the usual. An empty `template` is an open form. */
export function shortSearch(search: RuntimesSearch): RuntimesSearch {
  return Object.fromEntries(
    Object.entries(search).filter(([name, text]) =>
      name === 'template' ? text !== undefined : text !== undefined && text !== '' && text !== 'live',
    ),
  )
}
