/** A line of a chart. */
export interface ChartLine {
  readonly label: string
  /** The value at each position. Null is a gap; undefined is a position of other lines only. */
  readonly ys: readonly (number | null | undefined)[]
  /** The marks of the line. Default `line`. */
  readonly kind?: 'line' | 'points' | 'bars'
}
