import { HoltError } from '@holt/protocol'

/**
 * Receives the reason why something cannot be created. A create throws it. A dry run records it and
 * returns null, and continues with the checks. `Refused` is the type of a value that a refusal
 * leaves open.
 */
export type Refuse<Refused extends null = null> = (error: HoltError) => Refused

/** Refuses at the first reason. */
export const throwRefusal: Refuse<never> = (error) => {
  throw error
}

/**
 * Returns the result of a check, or the result of `refuse` if the check throws a reason. Other
 * errors are thrown: an unknown caller, and failures of the service.
 */
export async function attempt<Found, Refused extends null>(
  refuse: Refuse<Refused>,
  check: () => Found | Promise<Found>,
): Promise<Found | Refused> {
  try {
    return await check()
  } catch (error) {
    if (!(error instanceof HoltError) || error.code === 'unauthenticated' || error.code === 'internal') throw error
    return refuse(error)
  }
}
