import { expect, test } from 'vitest'
import { OpenVisits } from '../../../src/tenancy/auth/open-visits.ts'

test('the visits of one runtime are cut, and those of others stay', () => {
  const visits = new OpenVisits()
  const cut: string[] = []
  const enter = (id: string, name: string) => visits.enter(id, () => void cut.push(name))
  const leave = enter('one', 'a')
  enter('one', 'b')
  enter('other', 'c')
  leave()
  visits.cut('one')
  expect(cut).toEqual(['b'])
  visits.close()
  expect(cut).toEqual(['b', 'b', 'c'])
})

test('a visit that leaves while it is cut leaves nothing', () => {
  const visits = new OpenVisits()
  const leaveAll = () => {
    for (const leave of leaves) leave()
  }
  const leaves = [1, 2, 3].map(() => visits.enter('one', leaveAll))
  visits.cut('one')
  expect(visits.size).toBe(0)
})
