import type { TableProps } from './data-table.tsx'
import { Foreign } from './foreign.tsx'

/** A short table within a page: all of its rows are in the document. */
export function PlainTable<Item>({ label, rows, columns, idOf }: Omit<TableProps<Item>, 'nameOf'>) {
  return (
    <div className="plain-table">
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
