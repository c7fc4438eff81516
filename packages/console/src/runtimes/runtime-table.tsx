import {
  Cell,
  Checkbox,
  Column,
  Row,
  type Selection,
  Table,
  TableBody,
  TableHeader,
  TableLayout,
  Virtualizer,
} from 'react-aria-components'
import type { RuntimeRow } from './runtime-row.ts'
import { spanText, useNow } from './spans.ts'

interface RuntimeTableProps {
  readonly rows: readonly RuntimeRow[]
  readonly selected: Selection
  readonly onSelect: (selected: Selection) => void
}

/** The table of runtimes. Only the rows in sight are in the document, so thousands scroll well. */
export function RuntimeTable({ rows, selected, onSelect }: RuntimeTableProps) {
  const now = useNow()
  return (
    <Virtualizer layout={TableLayout} layoutOptions={{ rowHeight: 40, headingHeight: 36 }}>
      <Table
        className="table"
        aria-label="Runtimes"
        selectionMode="multiple"
        selectedKeys={selected}
        onSelectionChange={onSelect}
      >
        <TableHeader>
          <Column width={44} minWidth={44}>
            <Checkbox className="checkbox" slot="selection" aria-label="Select all runtimes" />
          </Column>
          <Column isRowHeader minWidth={200}>
            Runtime
          </Column>
          <Column width={130}>State</Column>
          <Column width={180}>Template</Column>
          <Column width={90}>Age</Column>
          <Column width={110}>Expires</Column>
        </TableHeader>
        <TableBody items={rows} dependencies={[now]}>
          {(row) => (
            <Row textValue={row.name ?? row.id}>
              <Cell>
                <Checkbox className="checkbox" slot="selection" aria-label={`Select ${row.name ?? row.id}`} />
              </Cell>
              <Cell>
                <span className="name">{row.name ?? row.id}</span>
              </Cell>
              <Cell>
                <span className={`state ${row.state}`}>{row.state}</span>
              </Cell>
              <Cell>{row.template}</Cell>
              <Cell>{spanText(now - row.createdAt)}</Cell>
              <Cell>{row.expiresAt === null ? 'never' : `in ${spanText(row.expiresAt - now)}`}</Cell>
            </Row>
          )}
        </TableBody>
      </Table>
    </Virtualizer>
  )
}
