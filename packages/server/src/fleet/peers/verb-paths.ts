/** The path of the request to make a child of a fork. */
export const childPath = '/peer/child'

/** The path of the request to take a paused runtime. */
export const takePath = '/peer/take'

/** The path of the question whether a host runs a request with an `Idempotency-Key`. */
export const runningPath = '/peer/running'
