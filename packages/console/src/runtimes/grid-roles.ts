/**
 * The roles of the parts of the table. Its rows are placed one by one, so they are not the elements
 * of a table, which browsers lay out together. The table has the focus, and names its active row.
 */
export const roles = {
  group: { role: 'rowgroup' },
  row: { role: 'row' },
  columnHeader: { role: 'columnheader' },
  rowHeader: { role: 'rowheader' },
  cell: { role: 'gridcell' },
} as const
