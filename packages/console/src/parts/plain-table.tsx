import { useRef } from 'react'
import type { TableProps } from './data-table.tsx'
import { Foreign } from './foreign.tsx'
import { useScrolls } from './use-scrolls.ts'

/** A short table within a page: all of its rows are in the document. */
export function PlainTable<Item>({ label, rows, columns, idOf }: Omit<TableProps<Item>, 'nameOf'>) {
  const frame = useRef<HTMLDivElement>(null)
  const stop = useScrolls(frame) ? { tabIndex: 0, role: 'group', 'aria-label': label } : {}
  return (
    <div className="plain-table" ref={frame} {...stop}>
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ title }) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((item) => (
            <tr key={idOf(item)}>
              {columns.map(({ title, cell }, at) =>
                at === 0 ? (
                  <th key={title} scope="row">
                    <Foreign>{cell(item)}</Foreign>
                  </th>
                ) : (
                  <td key={title}>
                    <Foreign>{cell(item)}</Foreign>
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
