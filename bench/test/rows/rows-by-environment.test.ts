import { expect, it } from 'vitest'
import type { Row } from '../../rows/row.ts'
import { rowsByEnvironment } from '../../rows/rows-by-environment.ts'

const row = (id: string, environment: Row['environment']): Row => ({
  id,
  title: id,
  environment,
  measure: () => Promise.reject(new Error('not measured here')),
})

it('groups rows of daemons with the same settings, in any order', () => {
  const rows = [row('B1', { A: '1', B: '2' }), row('B3', {}), row('B4', { B: '2', A: '1' }), row('B5', { A: '1' })]
  const ids = rowsByEnvironment(rows).map((group) => group.rows.map(({ id }) => id))
  expect(ids).toEqual([['B1', 'B4'], ['B3'], ['B5']])
})
