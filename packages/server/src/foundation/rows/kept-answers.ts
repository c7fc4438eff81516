/** The maximum size of an answer that is kept, in bytes of JSON. */
export const maxKeptAnswerBytes = 2 ** 20

/** The purpose of the record secret. Its loss costs only the answers of a day. */
export const recordsPurpose = 'idempotency'
