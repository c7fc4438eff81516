/** The needs of a pool. */
export interface PoolNeed {
  /** Never fewer, whatever the demand is. */
  readonly floor: number
  /** The number of members that recent demand asks for. */
  readonly demand: number
}

/**
 * How many runtimes each pool should have, in the order of `needs`: its floor or its demand,
 * whichever is more. Where all together would be more than the ceiling, floors come first, and what
 * is left is divided by what each wants beyond.
 */
export function poolSizes(needs: readonly PoolNeed[], ceiling: number): readonly number[] {
  const floors = within(
    needs.map(({ floor }) => floor),
    ceiling,
  )
  const rest = ceiling - sum(floors)
  const more = within(
    needs.map(({ demand }, index) => Math.max(0, demand - (floors[index] ?? 0))),
    rest,
  )
  return floors.map((floor, index) => floor + (more[index] ?? 0))
}

/** The wishes as they are where they fit, else each one's share, rounded down. */
function within(wishes: readonly number[], available: number): readonly number[] {
  const wished = sum(wishes)
  return wished <= available ? wishes : wishes.map((wish) => Math.floor((wish * available) / wished))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
