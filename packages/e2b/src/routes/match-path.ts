/** A route: its method, and its path with parameters in braces. */
export interface WireRoute {
  readonly method: string
  readonly path: string
}

/** A route that matches a request, with the decoded parameters of its path. */
export interface PathMatch<Name extends string> {
  readonly name: Name
  readonly params: Readonly<Record<string, string>>
}

/** Returns the route of a request; `method` or `path` says what no route has. */
export type Matcher<Name extends string> = (method: string, path: string) => PathMatch<Name> | 'method' | 'path'

/**
 * Makes the matcher of a table of routes. Earlier routes win. A parameter is one segment, which may
 * have percent-encoded slashes, and is decoded.
 */
export function makeMatcher<Name extends string>(table: Readonly<Record<Name, WireRoute>>): Matcher<Name> {
  const routes = Object.entries<WireRoute>(table).map(([name, { method, path }]) => ({
    name: name as Name,
    method,
    names: [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => parameter),
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '([^/]+)')}$`),
  }))
  return (method, path) => {
    let known = false
    for (const route of routes) {
      const found = route.pattern.exec(path)
      if (found === null) continue
      known = true
      const values = route.method === method ? found.slice(1).map(decoded) : [null]
      if (values.every((value) => value !== null))
        return {
          name: route.name,
          params: Object.fromEntries(route.names.map((name, index) => [name, values[index] ?? ''])),
        }
    }
    return known ? 'method' : 'path'
  }
}

/** Returns a decoded segment. Returns null if it is not percent-encoded UTF-8, or has a NUL. */
function decoded(segment: string): string | null {
  try {
    const text = decodeURIComponent(segment)
    return text.includes('\0') ? null : text
  } catch {
    return null
  }
}
