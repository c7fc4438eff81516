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

test('a pause cuts the connections from before it, and keeps those that wait for its end', () => {
  const visits = new OpenVisits()
  const cut: string[] = []
  visits.enter('rt', () => cut.push('before'))
  const leave = visits.enter('rt', () => cut.push('left'))
  visits.follow('rt', 'pausing')
  leave()
  visits.enter('rt', () => cut.push('during'))
  visits.follow('rt', 'paused')
  expect(cut).toEqual(['before'])
  visits.follow('rt', 'resuming')
  visits.follow('rt', 'running')
  visits.follow('rt', 'pausing')
  visits.follow('rt', 'paused')
  expect(cut).toEqual(['before', 'before', 'during'])
})

test('the end of a runtime that is pausing cuts every connection', () => {
  const visits = new OpenVisits()
  const cut: string[] = []
  visits.follow('rt', 'pausing')
  visits.enter('rt', () => cut.push('during'))
  visits.follow('rt', 'terminating')
  expect(cut).toEqual(['during'])
})

test('a pause that began before a restart cuts what is open', () => {
  const visits = new OpenVisits()
  const cut: string[] = []
  visits.enter('rt', () => cut.push('open'))
  visits.follow('rt', 'paused')
  expect(cut).toEqual(['open'])
})
