/** The longest kept answer, in bytes of JSON. */
export const maxKeptAnswerBytes = 2 ** 20

/** The purpose of the record secret. Its loss costs only the answers of a day. */
export const recordsPurpose = 'idempotency'
