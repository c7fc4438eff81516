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
 * Returns what a check finds, or what `refuse` returns if the check throws a reason. Errors that
 * are no answer to the request are thrown: an unknown caller, and failures of the service.
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
