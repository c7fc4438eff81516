/** The needs of a pool. */
export interface PoolNeed {
  /** The minimum number of members. */
  readonly floor: number
  /** The number of members that recent demand asks for. */
  readonly demand: number
}

/**
 * Returns the size of each pool, in the order of `needs`: the larger of its floor and its demand.
 * If the total exceeds the ceiling, floors come first, and the rest is shared in proportion to the
 * remaining demand.
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

/** Returns the wishes if they fit, else a proportional share of each, rounded down. */
function within(wishes: readonly number[], available: number): readonly number[] {
  const wished = sum(wishes)
  return wished <= available ? wishes : wishes.map((wish) => Math.floor((wish * available) / wished))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
