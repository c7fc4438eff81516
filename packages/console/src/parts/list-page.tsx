import { type ReactNode, useState } from 'react'
import { Button, Input, SearchField } from 'react-aria-components'
import { Answer } from './answer.tsx'
import { EmptyState } from './empty-state.tsx'

interface ListPageProps<Item> {
  readonly title: string
  /** Names the items within a sentence: `snapshots`. */
  readonly what: string
  readonly query: {
    readonly data: readonly Item[] | undefined
    readonly error: unknown
    readonly isPending: boolean
  }
  /** The button that makes another item; null for a key that may not. */
  readonly action: ReactNode
  /** The control that chooses whose list is shown. Default: none. */
  readonly choice?: ReactNode
  /** The texts of an item that the search looks into. */
  readonly textsOf: (item: Item) => readonly string[]
  /** Says what the items are for, and how to make the first one, if there are none. */
  readonly empty: ReactNode
  readonly children: (items: readonly Item[]) => ReactNode
}

/** A page with a list: its title, a search, and what it says while it is empty. */
export function ListPage<Item>(props: ListPageProps<Item>) {
  const { title, what, query, action, choice, textsOf, empty, children } = props
  const [sought, setSought] = useState('')
  const text = sought.trim().toLowerCase()
  return (
    <>
      <div className="title">
        <h1>{title}</h1>
        {action}
      </div>
      {choice == null ? null : <div className="list-choice">{choice}</div>}
      <Answer query={query} what={`the ${what}`}>
        {(items) => {
          if (items.length === 0) return empty
          const found = items.filter((item) => textsOf(item).some((each) => each.toLowerCase().includes(text)))
          return (
            <>
              <div className="toolbar">
                <SearchField aria-label={`Find in ${what}`} value={sought} onChange={setSought}>
                  <Input placeholder="Find" />
                </SearchField>
                <span role="status" className="muted">
                  {found.length === items.length ? `${items.length}` : `${found.length} of ${items.length}`}
                </span>
              </div>
              {found.length > 0 ? (
                children(found)
              ) : (
                <EmptyState title="Nothing matches">
                  <p>
                    <Button className="button" onPress={() => setSought('')}>
                      Show all
                    </Button>
                  </p>
                </EmptyState>
              )}
            </>
          )
        }}
      </Answer>
    </>
  )
}
