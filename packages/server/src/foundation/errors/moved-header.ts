/**
 * The header of an answer between hosts: the runtime has another host by now. The entry asks that
 * one, and its client sees no such header.
 */
export const movedHeader = 'holt-moved'
