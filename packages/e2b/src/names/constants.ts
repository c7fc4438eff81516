/**
 * The version of the agent inside a sandbox that answers name. Clients use an ability only from its
 * version on: metadata of files from 0.6.2, and entries in watch events from 0.6.3.
 */
export const envdVersion = '0.6.4'

/** The id of the client, which every answer has and no client uses. */
export const clientId = 'holt'
