/** The bytes that one item of a run has at most, and more. */
const itemRoom = 2 ** 24

/** Returns the place of a byte in the output of a run as one number: its item, and its offset. */
export function codeCursor(item: number, offset: number): number {
  return item * itemRoom + offset
}

/** Returns the item of a cursor, and the offset of its byte in that item. */
export function placeOf(cursor: number): { readonly item: number; readonly offset: number } {
  return { item: Math.floor(cursor / itemRoom), offset: cursor % itemRoom }
}
