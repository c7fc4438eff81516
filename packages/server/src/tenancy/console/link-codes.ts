import type { Caller } from '../../foundation/request/caller.ts'
import { OneTimeCodes } from '../../foundation/request/one-time-codes.ts'

/** The key that a link signs in with, and the version of its secret. */
export type LinkGrant = Pick<Caller, 'projectId' | 'keyId' | 'keyName' | 'keyVersion' | 'scopes'>

/** The codes of links that sign a browser in. */
export class LinkCodes extends OneTimeCodes<LinkGrant> {}
