import type { RefObject } from 'react'
import { Input, SearchField } from 'react-aria-components'
import { Tick } from '../parts/tick.tsx'
import { viewOf, views } from './runtime-row.ts'
import type { RuntimesSearch } from './runtimes-search.ts'

interface FilterProps {
  readonly search: RuntimesSearch
  readonly show: (change: RuntimesSearch) => void
  readonly find: string
  readonly setFind: (find: string) => void
  readonly finder: RefObject<HTMLInputElement | null>
}

/** The controls that choose the rows of the table: words, a state, and the list or the tree. */
export function RuntimeFilter({ search, show, find, setFind, finder }: FilterProps) {
  return (
    <>
      <SearchField aria-label="Find a runtime" value={find} onChange={setFind}>
        <Input ref={finder} placeholder="Name, id or label=value" />
      </SearchField>
      <label>
        <span className="hidden">State</span>
        <select value={viewOf(search.state)} onChange={({ target }) => show({ state: target.value })}>
          {Object.entries(views).map(([name, title]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <Tick
        label="Tree of forks"
        isTicked={search.view === 'tree'}
        set={(isTree) => show({ view: isTree ? 'tree' : '' })}
      />
    </>
  )
}
