/** The headers of a JSON answer. */
export const jsonHeaders = { 'content-type': 'application/json; charset=utf-8' } as const
