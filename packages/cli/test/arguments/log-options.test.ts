import { expect, test } from 'vitest'
import { type LogOptions, selectedItems } from '../../src/arguments/log-options.ts'
import { UsageError } from '../../src/verb/verb.ts'

const items = [
  { cursor: 1, at: '2030-01-01T00:00:00.000Z' },
  { cursor: 2 },
  { cursor: 3, at: '2030-01-02T00:00:00.000Z' },
  { cursor: 4, at: '2030-01-03T00:00:00.000Z' },
]
const coming = { cursor: 5, at: '2030-01-04T00:00:00.000Z' }

async function cursorsOf(options: LogOptions): Promise<readonly number[]> {
  const selected = selectedItems<{ cursor: number; at?: string }>(options)
  const shown: number[] = []
  const read = async function* ({ follow, cursor = 0 }: { follow: boolean; cursor?: number }) {
    for (const item of follow ? [...items, coming] : items) if (item.cursor > cursor) yield item
  }
  for await (const { cursor } of selected(read)) shown.push(cursor)
  return shown
}

test.each<[LogOptions, readonly number[]]>([
  [{}, [1, 2, 3, 4]],
  [{ follow: true }, [1, 2, 3, 4, 5]],
  [{ tail: 1 }, [4]],
  [{ tail: 0 }, []],
  [{ tail: 9 }, [1, 3, 4]],
  [{ tail: 1, follow: true }, [4, 5]],
  [{ tail: 0, follow: true }, [5]],
  [{ since: '2030-01-02' }, [2, 3, 4]],
  [{ since: '2030-01-02', tail: 5 }, [3, 4]],
  [{ since: '2030-01-03', follow: true }, [2, 4, 5]],
])('%j shows the items %j', async (options, shown) => {
  expect(await cursorsOf(options)).toEqual(shown)
})

test.each([{ tail: Number.NaN }, { tail: -1 }, { since: 'soon' }])('%j is wrong usage', (options) => {
  expect(() => selectedItems(options)).toThrow(UsageError)
})
