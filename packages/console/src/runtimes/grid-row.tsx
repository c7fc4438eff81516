import { type MouseEvent, memo } from 'react'
import { shownText } from '../parts/shown-text.ts'
import { spanText, useTimedText } from '../parts/spans.ts'
import { expiryText } from './expiry-text.ts'
import { roles } from './grid-roles.ts'
import { labelOf, type RuntimeRow } from './runtime-row.ts'
import { UsageCell } from './usage-cell.tsx'
import { rowHeight } from './use-visible-rows.ts'

interface GridRowProps {
  readonly row: RuntimeRow
  readonly index: number
  readonly level: number
  readonly forks: number
  readonly isExpanded: boolean
  readonly isTree: boolean
  readonly isSelected: boolean
  readonly isActive: boolean
  readonly onPick: (id: string, event: MouseEvent) => void
  readonly onExpand: (id: string, isExpanded: boolean) => void
  readonly onOpen: (id: string) => void
}

/** The path of the console, as in the router. */
const consolePath = '/console'

/** Returns the id of the element of a row. */
export function rowElementId(id: string): string {
  return `row-${id}`
}

/** A row of the table of runtimes. It renders again only when it changed. */
export const GridRow = memo(function GridRow(props: GridRowProps) {
  const { row, index, level, forks, isExpanded, isTree, isSelected, isActive, onPick, onExpand, onOpen } = props
  const { id, state } = row
  const name = labelOf(row)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: its role is a row
    // biome-ignore lint/a11y/useKeyWithClickEvents: the table handles the keys
    <div
      {...roles.row}
      {...{ 'aria-rowindex': index + 2, 'aria-selected': isSelected }}
      id={rowElementId(id)}
      className="grid-row"
      style={{ transform: `translateY(${index * rowHeight}px)` }}
      data-active={isActive || undefined}
      onClick={(event) => onPick(id, event)}
      {...(isTree ? { 'aria-level': level, ...(forks > 0 ? { 'aria-expanded': isExpanded } : {}) } : {})}
    >
      <div {...roles.cell}>
        <input type="checkbox" tabIndex={-1} checked={isSelected} readOnly aria-label={`Select ${name}`} />
      </div>
      <div {...roles.rowHeader} className={isTree ? `name indent-${Math.min(level, 8)}` : 'name'}>
        {forks > 0 ? (
          <button
            type="button"
            tabIndex={-1}
            className="expander"
            aria-label={`${isExpanded ? 'Hide' : 'Show'} the ${forks} forks of ${name}`}
            onClick={() => onExpand(id, !isExpanded)}
          >
            {isExpanded ? '▾' : '▸'}
          </button>
        ) : isTree ? (
          <span className="expander" />
        ) : null}
        {/* A plain link: the router's own reads the address in every row, at each scroll. */}
        <a href={`${consolePath}/runtimes/${id}`} tabIndex={-1} onClick={(event) => openHere(event, onOpen, id)}>
          {name}
        </a>
        {isTree && row.parentId !== null && level === 1 ? (
          <span className="muted"> fork of {row.parentId}, which has ended</span>
        ) : null}
      </div>
      <div {...roles.cell}>
        <span className={`state ${state}`} title={row.reason === null ? undefined : shownText(row.reason)}>
          {state}
        </span>
      </div>
      <div {...roles.cell}>{row.template}</div>
      <div {...roles.cell}>{state === 'running' ? <UsageCell id={id} kind="cpu" /> : null}</div>
      <div {...roles.cell}>{state === 'running' ? <UsageCell id={id} kind="memory" /> : null}</div>
      <div {...roles.cell}>
        <Age since={row.createdAt} />
      </div>
      <div {...roles.cell}>
        <Expiry row={row} />
      </div>
    </div>
  )
})

function Age({ since }: { readonly since: number }) {
  return useTimedText((now) => spanText(now - since))
}

/** Shows the deadline of a runtime, and its pause without use. */
function Expiry({ row }: { readonly row: RuntimeRow }) {
  return useTimedText((now) => expiryText(row, now))
}

/** Opens a page in this tab, unless the keys of the click mean another place. */
function openHere(event: MouseEvent, open: (id: string) => void, id: string): void {
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
  event.preventDefault()
  open(id)
}
