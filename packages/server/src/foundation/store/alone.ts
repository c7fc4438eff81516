/**
 * The data that a change reads and decides by. No other change that declares the same runs
 * meanwhile:
 *
 * * `project`: the rows of a project. The default for every change that has one.
 * * `service`: facts across projects, such as the names of projects. It is not alone with the rows
 *   of a project before it has entered it (`Changes.enterProject`).
 * * `row`: nothing. Each statement decides by itself, with the values of the row in its conditions.
 *
 * A change takes one of them, and `service` before a project. So no two changes wait for each
 * other.
 */
export type Alone =
  | { readonly type: 'row' }
  | { readonly type: 'project'; readonly projectId: string }
  | { readonly type: 'service' }

/** The scope of changes whose statements decide by themselves. */
export const aloneWithRow: Alone = { type: 'row' }

/** The scope of changes across projects. */
export const aloneWithService: Alone = { type: 'service' }

/** Returns the scope of changes of a project. */
export function aloneWith(projectId: string): Alone {
  return { type: 'project', projectId }
}

/** Returns true if changes of a scope are alone in a project from their start on. */
export function isAloneWith(alone: Alone, projectId: string): boolean {
  return alone.type === 'project' && alone.projectId === projectId
}

/**
 * Returns the error for a change that enters a project from another scope than `service`. Two such
 * changes could wait for each other.
 */
export function mayNotEnter(alone: Alone, projectId: string): Error {
  return new Error(`a change with the scope ${alone.type} cannot enter ${projectId}`)
}
