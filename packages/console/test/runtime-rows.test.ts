import { describe, expect, test } from 'vitest'
import { expiryText } from '../src/runtimes/expiry-text.ts'
import { listRows, treeRows } from '../src/runtimes/fork-tree.ts'
import { compareRows, orderOf, orderText } from '../src/runtimes/row-order.ts'
import { extendTo, noSelection, selectAll, toggleRow } from '../src/runtimes/row-selection.ts'
import { findRows, type RuntimeRow } from '../src/runtimes/runtime-row.ts'
import { mergeRows } from '../src/runtimes/runtimes-query.ts'
import { runtimesSearch, shortSearch } from '../src/runtimes/runtimes-search.ts'

const row: RuntimeRow = {
  id: 'rt0',
  name: null,
  state: 'running',
  reason: null,
  template: 'base-small',
  parentId: null,
  createdAt: 0,
  expiresAt: null,
  onTimeout: 'pause',
  idleSecs: null,
  findText: '',
}
const made = (id: string, more: Partial<RuntimeRow> = {}) => ({ ...row, id, ...more })
const order = ['a', 'b', 'c', 'd', 'e']

describe('find', () => {
  const rows = [
    made('a', { findText: 'mine\nbase-small\nteam=search' }),
    made('b', { findText: 'other\nbase-large\nteam=mail', state: 'paused' }),
  ]
  test.each([
    ['', 'live', 'ab'],
    ['BASE', 'live', 'ab'],
    ['team=search', 'live', 'a'],
    ['base  mail', 'live', 'b'],
    ['base nowhere', 'live', ''],
    ['base', 'paused', 'b'],
  ] as const)('%j in the view %s shows %s', (text, view, expected) => {
    expect(findRows(rows, view, text).map(({ id }) => id)).toEqual([...expected])
  })
})

describe('order', () => {
  const used = new Map([
    ['a', { cpu: 0.5, memoryBytes: 1 }],
    ['b', { cpu: 2, memoryBytes: 9 }],
  ])
  const rows = [
    made('a', { name: 'run-10', createdAt: 3, expiresAt: 50 }),
    made('b', { name: 'run-9', createdAt: 2, expiresAt: 20, state: 'failed' }),
    made('c', { name: 'run-1', createdAt: 1 }),
  ]
  test.each([
    [undefined, 'abc'],
    ['-age', 'cba'],
    ['name', 'cba'],
    ['-name', 'abc'],
    ['state', 'bac'],
    // A row without a value comes last in both directions.
    ['cpu', 'abc'],
    ['-cpu', 'bac'],
    ['-memory', 'bac'],
    ['expires', 'bac'],
    ['-expires', 'abc'],
  ])('%s', (text, expected) => {
    expect(rows.toSorted(compareRows(orderOf(text), used)).map(({ id }) => id)).toEqual([...expected])
  })

  test('an address has the order, but not the usual one, and no unknown one', () => {
    expect(['name', '-cpu', 'age', 'nonsense', undefined].map((text) => orderText(orderOf(text)))).toEqual([
      'name',
      '-cpu',
      undefined,
      undefined,
      undefined,
    ])
  })
})

describe('tree', () => {
  const compare = compareRows(orderOf('name'), new Map())
  const all = [
    made('root'),
    made('fork', { parentId: 'root' }),
    made('again', { parentId: 'fork' }),
    made('orphan', { parentId: 'gone' }),
  ]
  const shown = (found: readonly RuntimeRow[], collapsed: readonly string[] = []) =>
    treeRows({ all, found, compare, collapsed: new Set(collapsed) }).map(
      ({ row: { id }, level, forks, isExpanded }) => `${level} ${id} ${forks}${isExpanded ? ' open' : ''}`,
    )

  test('a fork is below its source, and below nothing if that has gone', () => {
    expect(shown(all)).toEqual(['1 orphan 0', '1 root 1 open', '2 fork 1 open', '3 again 0'])
  })

  test('the ancestors of a match are shown, and nothing below a closed row', () => {
    expect(shown([all[2] ?? row])).toEqual(['1 root 1 open', '2 fork 1 open', '3 again 0'])
    expect(shown(all, ['fork'])).toEqual(['1 orphan 0', '1 root 1 open', '2 fork 1'])
  })

  test('a chain of 20,000 forks has a row for each', () => {
    const chain = Array.from({ length: 20_000 }, (_, at) =>
      made(`r${at}`, { parentId: at === 0 ? null : `r${at - 1}` }),
    )
    expect(treeRows({ all: chain, found: chain, compare, collapsed: new Set() }).at(-1)?.level).toBe(20_000)
    expect(listRows(chain)).toHaveLength(20_000)
  })
})

describe('selection', () => {
  const ids = ({ ids: selected }: { readonly ids: ReadonlySet<string> }) => [...selected].toSorted().join('')
  test('a range extends from the last row that was toggled, and shrinks again', () => {
    const begun = toggleRow(toggleRow(noSelection, 'a'), 'c')
    expect(ids(extendTo(begun, 'e', order))).toBe('acde')
    expect(ids(extendTo(extendTo(begun, 'e', order), 'd', order))).toBe('acd')
    expect(ids(extendTo(begun, 'b', order))).toBe('abc')
    expect(ids(toggleRow(begun, 'a'))).toBe('c')
  })

  test('a range without a beginning, or from a row that has gone, begins at its end', () => {
    expect(ids(extendTo(noSelection, 'b', order))).toBe('b')
    expect(ids(extendTo(toggleRow(noSelection, 'gone'), 'b', order))).toBe('bgone')
    expect(ids(extendTo(selectAll(order), 'nowhere', order))).toBe('abcde')
  })
})

test('rows that did not change stay the same objects', () => {
  const before = [made('a'), made('b')]
  const after = mergeRows(before, [made('a'), made('b', { state: 'paused' }), made('c')])
  expect([after[0] === before[0], after[1] === before[1], after.length]).toEqual([true, false, 3])
  expect(mergeRows(before, [made('a'), made('b')])).toBe(before)
})

test.each([
  [{ expiresAt: 60_000 }, 'pauses in 1 min'],
  [{ expiresAt: 7_200_000, onTimeout: 'terminate' }, 'ends in 2 h'],
  [{ expiresAt: 60_000, idleSecs: 300 }, 'pauses in 1 min, or after 5 min without use'],
  [{ idleSecs: 300 }, 'pauses after 5 min without use'],
  [{}, 'never'],
  [{ state: 'paused' }, 'not while paused'],
  [{ state: 'failed' }, ''],
] as const)('the end of %j is %j', (more, expected) => {
  expect(expiryText(made('a', more), 0)).toBe(expected)
})

test('an address has only what differs from the usual, and an open form', () => {
  expect(runtimesSearch({ find: 42, state: 'paused', template: '', other: 'x', view: {} })).toEqual({
    find: '42',
    state: 'paused',
    template: '',
  })
  expect(shortSearch({ find: '', state: 'live', view: 'tree', template: '' })).toEqual({ view: 'tree', template: '' })
  expect(shortSearch({ template: undefined })).toEqual({})
})
